import { ObservatoryError } from '../../base/index.ts';
import type { FailedAttempt } from './provider.ts';

/**
 * What kind of failure a provider call had:
 * - `http`: it answered with an error status. `stream`: it reported an error inside a stream.
 * - `network`: no answer, or the connection was cut. `timeout`: nothing came for `idleTimeoutMs`.
 * - `context_length`: the conversation is longer than the model takes.
 * - `client`: the request could not even be made.
 */
export type ProviderFailure = 'http' | 'stream' | 'network' | 'timeout' | 'context_length' | 'client';

/** A failed attempt in neutral terms, before the retry policy decides on it. */
export interface FailureDetails {
  readonly kind: ProviderFailure;
  readonly message: string;
  readonly status?: number | undefined;
  /** The provider's own word for the error, e.g. `overloaded_error`, `insufficient_quota`. */
  readonly type?: string | undefined;
  readonly requestId?: string | undefined;
  /** Wait the provider asked for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly retryable: boolean;
}

/** A model provider refused the request, or stayed out of reach for all tries. Never holds a key or a request. */
export class ProviderError extends ObservatoryError {
  readonly provider: string;
  readonly kind: ProviderFailure;
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly retryable: boolean;
  /** The tries before this failure. */
  readonly failedAttempts: readonly FailedAttempt[];

  constructor(provider: string, details: FailureDetails, failedAttempts: readonly FailedAttempt[]) {
    const tries = failedAttempts.length + 1;
    super('PROVIDER_FAILED', `${provider}: ${details.message}${tries > 1 ? ` (after ${tries} tries)` : ''}`);
    this.name = 'ProviderError';
    this.provider = provider;
    this.kind = details.kind;
    this.status = details.status;
    this.type = details.type;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
    this.retryable = details.retryable;
    this.failedAttempts = failedAttempts;
  }
}

/** Removes a key, and anything that looks like one, from a text a provider or SDK wrote. */
export function scrubKeys(text: string, apiKey: string | undefined): string {
  const scrubbed = apiKey !== undefined && apiKey.length > 3 ? text.replaceAll(apiKey, '[key]') : text;
  return scrubbed.replace(/\b(?:sk-|AIza)[\w*-]{6,200}/g, '[key]');
}
