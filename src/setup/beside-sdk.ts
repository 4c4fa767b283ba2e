/** Adds to an application's own SDK: signals on its spans, and rows of them. */
import { type Context, diag, type TracerProvider } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import { errorMessage, printable } from '../base/index.ts';
import type { DurableSpanProcessor } from '../durable/index.ts';
import { ObservatorySpanProcessor } from '../processor/index.ts';
import { doubleSpans } from './doubled-spans.ts';
import { findProcessors, type OtherProcessors } from './registration/index.ts';

/** An application's SDK with ours in it. */
export interface JoinedSdk {
  /** Where spans of ours start. */
  readonly tracerProvider: TracerProvider;
  /** Absent where it takes no processors. */
  readonly processors: OtherProcessors | undefined;
}

/**
 * Enriches the spans of an application's SDK, and stores them where there is a database. Of an SDK that takes no
 * processors, only the spans of ours are.
 * @param flushMs how long flushes of the SDK may take longer because of the rows.
 */
export function joinSdk(
  provider: TracerProvider,
  rows: DurableSpanProcessor | undefined,
  flushMs: () => number,
): JoinedSdk {
  const processors = findProcessors(provider);
  const added = [
    new ObservatorySpanProcessor(),
    ...(rows === undefined ? [] : [new RowsBeside(rows, flushMs)]),
  ];
  if (processors === undefined) return { tracerProvider: standBeside(provider, rows && added), processors };
  const [enriching, storing] = added;
  if (enriching !== undefined) processors.addFirst(enriching);
  if (storing !== undefined) processors.addLast(storing);
  return { tracerProvider: provider, processors };
}

function standBeside(provider: TracerProvider, added: SpanProcessor[] | undefined): TracerProvider {
  const name = printable(provider.constructor.name || 'unknown');
  const warn = (rows: string) =>
    diag.warn(
      `mcp-observatory: the application's tracer provider (${name}) takes no span processors from us, so its spans get no signals.${rows} If it has an option for span processors, give it an ObservatorySpanProcessor, and a DurableSpanProcessor for rows`,
    );
  try {
    const doubled = added === undefined ? provider : doubleSpans(provider, added);
    warn(added === undefined ? '' : ' Rows have the calls that we trace, and no other spans.');
    return doubled;
  } catch (error) {
    warn(` No rows are written to the database of MCP_OBSERVATORY_DATABASE_URL: ${errorMessage(error)}.`);
    return provider;
  }
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
