import { setTimeout as sleep } from 'node:timers/promises';
import { trace } from '@opentelemetry/api';
import {
  checkKinds,
  checkValue,
  having,
  kinds,
  ObservatoryError,
  required,
  wholeNumber,
} from '../../base/index.ts';
import { isToolError } from '../tool-error.ts';
import type { GovernanceOptions, SpanReference } from '../types.ts';
import type { FallbackRouter } from './router.ts';
import type { FallbackOutcome, FallbackRequest } from './types.ts';

/** A tool call with a fallback. A `confidence` below `confidenceGateThreshold` prevents the call. */
export interface RoutedToolCall<T>
  extends Omit<
    GovernanceOptions,
    'fallbackUsed' | 'fallbackType' | 'fallbackReason' | 'gateBlocked' | 'retries'
  > {
  readonly toolName: string;
  readonly call: () => T | Promise<T>;
  /** Arguments as a JSON value, for the hash on the span and for reviewers. */
  readonly arguments?: unknown;
  /** Id the model gave the call. */
  readonly callId?: string | undefined;
  /** Attempts after the first one. Only for tools that may be called twice. @defaultValue 0 */
  readonly maxRetries?: number | undefined;
  /** Wait before the first retry, in milliseconds; doubled for each further one, to a minute. @defaultValue 0 */
  readonly retryDelayMs?: number | undefined;
  /** After an abort there is no further attempt and no fallback; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/** Result of a tool call with a fallback: the tool's result, or the fallback's response. */
export type RoutedToolResult<T> = {
  /** Attempts made after the first one. */
  readonly retries: number;
} & (
  | { readonly source: 'tool'; readonly response: T; readonly fallback: undefined }
  | { readonly source: 'fallback'; readonly response: unknown; readonly fallback: FallbackOutcome }
);

/** Its governance is checked where it is read. */
const CALL = {
  toolName: required(kinds.string),
  call: required(kinds.function),
  callId: kinds.string,
  maxRetries: kinds.number,
  retryDelayMs: kinds.number,
  signal: { expected: 'an AbortSignal', accepts: (value: unknown) => value instanceof AbortSignal },
};

/**
 * Calls a tool and uses its fallback route when the call fails or must not be made: a call or result refused by the
 * policy (`policy_violation`, never tried again), a tool that throws or reports `isError` in every attempt
 * (`tool_error`), or confidence too low to make the call (`low_confidence`).
 *
 * @throws ObservatoryError `INVALID_OPTION` before any call when the tool has no route; the signal's reason; what the
 * fallback throws.
 */
export async function callWithFallback<T>(
  router: FallbackRouter,
  call: RoutedToolCall<T>,
): Promise<RoutedToolResult<T>> {
  checkValue('the router of callWithFallback()', router, having('a FallbackRouter', 'routeOf', 'fallBack'));
  checkKinds(call, CALL, 'callWithFallback()');
  router.routeOf(call.toolName);
  wholeNumber('maxRetries', call.maxRetries ?? 0, 0);
  wholeNumber('retryDelayMs', call.retryDelayMs ?? 0, 0);
  const { confidence, confidenceGateThreshold: threshold } = call;
  if (confidence !== undefined && threshold !== undefined && !(confidence >= threshold)) {
    return fallBack(router, call, { reason: 'low_confidence', retries: 0 });
  }
  const attempts = await tryTool(router, call);
  const { failure, retries, span } = attempts;
  if (failure === undefined) {
    return { response: attempts.result as T, source: 'tool', retries, fallback: undefined };
  }
  return fallBack(router, call, { ...failure, retries, parent: span });
}

const MAX_DELAY_MS = 60_000;

type Failure = Pick<FallbackRequest, 'reason' | 'error' | 'response'>;

interface Attempts<T> {
  result: T | undefined;
  failure: Failure | undefined;
  retries: number;
  span: SpanReference | undefined;
}

async function tryTool<T>(router: FallbackRouter, call: RoutedToolCall<T>): Promise<Attempts<T>> {
  const { maxRetries, retryDelayMs, signal, ...options } = call;
  const done: Attempts<T> = { result: undefined, failure: undefined, retries: 0, span: undefined };
  try {
    await router.interceptor.interceptToolCall({
      ...options,
      judge: () => ({ retries: done.retries, gateBlocked: done.failure?.reason === 'policy_violation' }),
      call: async () => {
        done.span = trace.getActiveSpan()?.spanContext();
        for (;;) {
          signal?.throwIfAborted();
          try {
            done.result = await call.call();
            done.failure = isToolError(done.result)
              ? { reason: 'tool_error', response: done.result }
              : undefined;
          } catch (error) {
            done.failure = { reason: isPolicyDenial(error) ? 'policy_violation' : 'tool_error', error };
          }
          const isFinal = done.failure === undefined || done.failure.reason === 'policy_violation';
          if (isFinal || done.retries >= (maxRetries ?? 0)) break;
          await pause((retryDelayMs ?? 0) * 2 ** done.retries, signal);
          signal?.throwIfAborted();
          done.retries += 1;
        }
        // The span has recorded the error; the fallback takes over here.
        if (done.failure !== undefined && 'error' in done.failure) throw done.failure.error;
        return done.result as T;
      },
    });
  } catch (error) {
    signal?.throwIfAborted();
    if (done.failure?.error !== error) throw error;
  }
  return done;
}

async function fallBack<T>(
  router: FallbackRouter,
  call: RoutedToolCall<T>,
  failure: Failure & { readonly retries: number; readonly parent?: SpanReference | undefined },
): Promise<RoutedToolResult<T>> {
  const { toolName, confidence, riskTier, promptTemplateId } = call;
  const request = { toolName, confidence, riskTier, promptTemplateId, arguments: call.arguments, ...failure };
  const fallback = await router.fallBack(request);
  return { response: fallback.response, source: 'fallback', retries: failure.retries, fallback };
}

/** Ends early when aborted; the caller checks the signal. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (ms > 0) await sleep(Math.min(ms, MAX_DELAY_MS), undefined, { signal }).catch(() => undefined);
}

function isPolicyDenial(error: unknown): boolean {
  return ObservatoryError.isInstance(error) && error.code === 'POLICY_DENIED';
}
