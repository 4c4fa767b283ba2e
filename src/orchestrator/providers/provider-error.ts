import { ObservatoryError } from '../../base/index.ts';
import type { Fault } from '../../wire/index.ts';
import type { FailedAttempt } from './provider.ts';

/** A model provider refused the request, or stayed out of reach for all tries. Never holds a key or a request. */
export class ProviderError extends ObservatoryError {
  readonly provider: string;
  readonly kind: Fault['kind'];
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly retryable: boolean;
  /** The tries before this failure. */
  readonly failedAttempts: readonly FailedAttempt[];

  constructor(provider: string, details: Fault, failedAttempts: readonly FailedAttempt[], cause?: unknown) {
    const tries = failedAttempts.length + 1;
    super('PROVIDER_FAILED', `${provider}: ${details.message}${tries > 1 ? ` (after ${tries} tries)` : ''}`, {
      cause,
    });
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
