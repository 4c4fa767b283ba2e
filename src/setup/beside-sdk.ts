/** Adds to an application's own SDK: signals on its spans, and rows of them. */
import { type Context, diag, type TracerProvider } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import { printable } from '../base/index.ts';
import type { DurableSpanProcessor } from '../durable/index.ts';
import { ObservatorySpanProcessor } from '../processor/index.ts';
import { findProcessors, type OtherProcessors } from './registration/index.ts';

/**
 * Enriches the spans of an application's SDK, and stores them where there is a database.
 * @param flushMs how long flushes of the SDK may take longer because of the rows.
 * @returns undefined if the SDK takes no processors.
 */
export function joinSdk(
  provider: TracerProvider,
  rows: DurableSpanProcessor | undefined,
  flushMs: () => number,
): OtherProcessors | undefined {
  const processors = findProcessors(provider);
  if (processors === undefined) {
    const name = printable(provider.constructor.name || 'unknown');
    const rowsToo =
      rows === undefined ? '' : ' No rows are written to the database of MCP_OBSERVATORY_DATABASE_URL.';
    diag.warn(
      `mcp-observatory: the application's tracer provider (${name}) takes no span processors from us, so its spans get no signals.${rowsToo} If it has an option for span processors, give it an ObservatorySpanProcessor, and a DurableSpanProcessor for rows`,
    );
    return undefined;
  }
  processors.addFirst(new ObservatorySpanProcessor());
  if (rows !== undefined) processors.addLast(new RowsBeside(rows, flushMs));
  return processors;
}

/** Stores spans beside an SDK whose flushes neither fail nor wait for long because of that. */
class RowsBeside implements SpanProcessor {
  readonly #rows: DurableSpanProcessor;
  readonly #flushMs: () => number;

  constructor(rows: DurableSpanProcessor, flushMs: () => number) {
    this.#rows = rows;
    this.#flushMs = flushMs;
  }

  onStart(_span: Span, _parentContext: Context): void {
    this.#rows.onStart();
  }

  onEnd(span: ReadableSpan): void {
    this.#rows.onEnd(span);
  }

  /** Spans not stored in time are retried until the process ends, when losses are logged. */
  async forceFlush(): Promise<void> {
    await this.#rows.forceFlush(this.#flushMs()).catch(() => {});
  }

  /** The rows end with the process: spans may end after the SDK is shut down. */
  shutdown(): Promise<void> {
    return this.forceFlush();
  }
}
