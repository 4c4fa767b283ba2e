import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { withoutTracing } from '../base/index.ts';
import { isRowAtFault } from '../postgres/index.ts';

/** Result of exporting a batch. */
export type DeliveryOutcome =
  | { readonly kind: 'stored' }
  /** These spans will never be accepted; all others are stored. */
  | { readonly kind: 'refused'; readonly spans: readonly ReadableSpan[]; readonly error: Error }
  /** Nothing is known to be stored. */
  | { readonly kind: 'failed'; readonly error: Error };

/** Optional hooks that exporters of this package offer to the processor that feeds them. */
export interface OwnExporter extends SpanExporter {
  /** @param giveUp cuts the shutdown short. */
  shutdown(giveUp?: AbortSignal): Promise<void>;
  /** Registers callbacks that the exporter's shutdown, and its flush, await while it can still export. */
  beforeShutdown?(settle: () => Promise<void>, flush: () => Promise<void>): void;
  /** Begins what the first export needs. */
  prepare?(): void;
}

/** `ExportResultCode.SUCCESS` of `@opentelemetry/core`. */
const SUCCESS = 0;

/** OTLP status codes for a faulty batch: bad request, too large, unprocessable. */
const BATCH_AT_FAULT: ReadonlySet<unknown> = new Set([400, 413, 422]);
/** Codes of a back end that may answer a moment later. */
const BUSY: ReadonlySet<unknown> = new Set([429, 500, 502, 503, 504, 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']);
/** Codes of failures that may be of one batch. */
const OF_THE_BATCH: ReadonlySet<unknown> = new Set([
  'ETIMEDOUT',
  'DATABASE_REFUSED',
  'DATABASE_TABLE_REFUSES',
]);
/** Codes of a back end that is unreachable or rejects us: an export at the end of a process is not repeated. */
const ABSENT: ReadonlySet<unknown> = new Set([
  401,
  403,
  404,
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'DATABASE_UNREACHABLE',
  'DATABASE_SCHEMA_MISSING',
  'DATABASE_SCHEMA_TOO_NEW',
  'DATABASE_TABLE_REFUSES',
  'EXPORTER_SHUT_DOWN',
  'INVALID_OPTION',
  'MISSING_PEER',
]);

/**
 * Exports spans, untraced, once their resources are complete. Never rejects: an exporter that throws, times out or is
 * aborted counts as failed.
 */
export async function exportTo(
  exporter: SpanExporter,
  spans: readonly ReadableSpan[],
  timeoutMs: number,
  giveUp: AbortSignal,
): Promise<DeliveryOutcome> {
  for (const { resource } of spans) {
    if (resource.asyncAttributesPending) await resource.waitForAsyncAttributes?.().catch(() => {});
  }
  return new Promise((resolve) => {
    const settle = (outcome: DeliveryOutcome) => {
      clearTimeout(timer);
      giveUp.removeEventListener('abort', stop);
      resolve(outcome);
    };
    const fail = (error: unknown) => {
      settle({ kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
    };
    const stop = () => fail(noAnswer('before the end'));
    const timer = setTimeout(() => fail(noAnswer(`within ${timeoutMs} ms`)), timeoutMs).unref();
    giveUp.addEventListener('abort', stop);
    if (giveUp.aborted) {
      stop();
      return;
    }
    try {
      withoutTracing(() => {
        exporter.export([...spans], ({ code, error }) => {
          if (code === SUCCESS) settle({ kind: 'stored' });
          else if (hasRefusedSpans(error)) settle({ kind: 'refused', spans: error.refusedSpans, error });
          else fail(error ?? new Error('The exporter failed and did not say why'));
        });
      });
    } catch (error) {
      fail(error);
    }
  });
}

/** Whether the exporter blames the batch. */
export function isBatchAtFault(error: Error): boolean {
  return BATCH_AT_FAULT.has(readCode(error));
}

/** Whether the back end is unavailable for every batch. */
export function isOutOfOrder(error: Error): boolean {
  const code = readCode(error);
  // A database refuses because of a row's content, or because it is read-only, full, out of memory, too slow and so on.
  return code === 'DATABASE_REFUSED' ? !isRowAtFault(error.cause) : BUSY.has(code) || ABSENT.has(code);
}

/** Whether the back end is unreachable, so that an immediate retry is useless. */
export function isAbsent(error: Error): boolean {
  return ABSENT.has(readCode(error));
}

/** Whether a request may succeed if it is repeated. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = readCode(error);
  return code !== 'ETIMEDOUT' && (BUSY.has(code) || (typeof code === 'string' && ABSENT.has(code)));
}

/**
 * Whether an export failed with an answer about its spans, or took too long. It looks like an outage, but others may
 * fare better.
 */
export function mayBeOfTheBatch(error: Error): boolean {
  return OF_THE_BATCH.has(readCode(error));
}

function noAnswer(when: string): Error {
  return Object.assign(new Error(`The exporter gave no answer ${when}`), { code: 'ETIMEDOUT' });
}

function readCode(error: Error): unknown {
  return 'code' in error ? error.code : undefined;
}

/** A partial success reported by `PostgresSpanExporter` or a similar exporter. */
function hasRefusedSpans(
  error: Error | undefined,
): error is Error & { readonly refusedSpans: readonly ReadableSpan[] } {
  return error !== undefined && 'refusedSpans' in error && Array.isArray(error.refusedSpans);
}
