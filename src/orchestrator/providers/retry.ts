import { setTimeout as sleep } from 'node:timers/promises';
import { diag } from '@opentelemetry/api';
import { Deadline } from '../../mcp-client/index.ts';
import type { Attempt, Fault, HeaderReader } from '../../wire/index.ts';
import type { CompletionOptions, FailedAttempt, ProviderOptions } from './provider.ts';
import { ProviderError } from './provider-error.ts';

const DEFAULT_IDLE_TIMEOUT_MS = 300_000;

export interface RetryOutcome<T> {
  readonly value: T;
  readonly failedAttempts: readonly FailedAttempt[];
  readonly timeToFirstChunkMs: number | undefined;
}

/**
 * Runs one model call under the package's only retry policy; the SDKs' own retries are off, since theirs multiply
 * with it, differ between SDKs, and honor any `retry-after`, however long.
 *
 * Only network faults and statuses 408, 409, 425, 429 and 5xx are tried again. The wait is what the provider asked
 * for, else `initialDelayMs * 2^n` up to `maxDelayMs` less up to a quarter at random, so that clients that failed
 * together do not come back together. Waiting ends at once on abort.
 *
 * @throws ProviderError after the last try; the signal's reason when aborted.
 */
export async function withRetries<T>(
  provider: string,
  settings: Pick<ProviderOptions, 'retry' | 'idleTimeoutMs' | 'wait'>,
  options: Pick<CompletionOptions, 'signal' | 'onRetry'>,
  run: (attempt: Attempt) => Promise<T>,
  readError: (error: unknown, headers: HeaderReader | undefined) => Fault,
): Promise<RetryOutcome<T>> {
  const policy = settings.retry ?? {};
  const maxAttempts = Math.max(1, policy.maxAttempts ?? 4);
  const idleTimeoutMs = settings.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
  const failedAttempts: FailedAttempt[] = [];
  for (;;) {
    options.signal?.throwIfAborted();
    const silence = `no data for ${idleTimeoutMs} ms`;
    // Of its own for each try: a signal that outlives many calls would gather one listener per call.
    const deadline = new Deadline(idleTimeoutMs, [options.signal], {
      timedOut: () => new Error(silence),
      cancelled: ({ reason }) => reason,
    });
    const startedAt = performance.now();
    let timeToFirstChunkMs: number | undefined;
    const onChunk = (): void => {
      timeToFirstChunkMs ??= performance.now() - startedAt;
      deadline.refresh();
    };
    const attempt: Attempt = { signal: deadline.signal, onChunk };
    let failure: Fault;
    try {
      const value = await run(attempt);
      return { value, failedAttempts, timeToFirstChunkMs };
    } catch (error) {
      options.signal?.throwIfAborted();
      failure = deadline.passed
        ? { kind: 'timeout', message: silence, retryable: true }
        : readError(error, attempt.errorHeaders);
    } finally {
      deadline.clear();
    }
    const delayMs = retryDelayMs(failure, failedAttempts.length, policy);
    if (delayMs === undefined || failedAttempts.length + 1 >= maxAttempts) {
      throw new ProviderError(provider, failure, failedAttempts);
    }
    const failed: FailedAttempt = { status: failure.status, message: failure.message, delayMs };
    failedAttempts.push(failed);
    notify(options.onRetry, failed);
    await (settings.wait ?? pause)(delayMs, options.signal).catch((error: unknown) => {
      options.signal?.throwIfAborted();
      throw error;
    });
  }
}

/** A longer delay would end Node's timer at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

async function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(Math.min(delayMs, MAX_DELAY_MS), undefined, signal === undefined ? {} : { signal });
}

/** The wait before the next try, or nothing when there should be none. */
export function retryDelayMs(
  failure: Pick<Fault, 'retryable' | 'retryAfterMs'>,
  retries: number,
  policy: NonNullable<ProviderOptions['retry']>,
): number | undefined {
  if (!failure.retryable) return undefined;
  if (failure.retryAfterMs !== undefined) {
    return failure.retryAfterMs > (policy.maxRetryAfterMs ?? 60_000) ? undefined : failure.retryAfterMs;
  }
  const ceiling = policy.maxDelayMs ?? 8_000;
  const delay = Math.min((policy.initialDelayMs ?? 500) * 2 ** Math.min(retries, 30), ceiling);
  return delay * (1 - Math.random() / 4);
}

function notify(callback: CompletionOptions['onRetry'], failed: FailedAttempt): void {
  try {
    callback?.(failed);
  } catch (error) {
    diag.warn(`mcp-observatory: onRetry threw: ${(error as Error).message}`);
  }
}
