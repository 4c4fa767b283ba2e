import { diag } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { hasDiagLogger, ObservatoryError, withoutTracing } from '../base/index.ts';
import { withoutData } from './database-error.ts';
import type { RefusedSpan, StoreTally } from './row-sink.ts';

type ResultCallback = Parameters<SpanExporter['export']>[1];

/** `ExportResultCode` of `@opentelemetry/core`. */
const SUCCESS = 0;
const FAILED = 1;

/** Spans handled since the creation of the exporter. */
export interface ExporterStats {
  /** In the table: written by this exporter, or already there. */
  readonly exported: number;
  /** Exported spans with values that cannot be stored unchanged; their rows name them under `observatory.sanitised`. */
  readonly sanitised: number;
  /** Exported spans with values longer than the limits; their rows name them under `observatory.truncated`. */
  readonly truncated: number;
  /** Not known to be stored because an export failed as a whole: no connection, no table and the like. */
  readonly failed: number;
  /** Refused by the database, or without a valid id; all others of their export are stored. */
  readonly refused: number;
}

/**
 * Writes spans to the table `mcp_traces` of a database. Exports may run concurrently. An export succeeds only when all of
 * its spans are stored. If the database refuses some, the others are stored and the result is a
 * {@link RefusedSpansError}, which is also reported through `diag`. It never throws into the host.
 */
export abstract class SpanStoreExporter implements SpanExporter, AsyncDisposable {
  readonly #inFlight = new Set<Promise<void>>();
  readonly #stats = { exported: 0, sanitised: 0, truncated: 0, failed: 0, refused: 0 };
  readonly #end = new AbortController();
  #shutdown: Promise<void> | undefined;
  #isClosed = false;
  /** Callbacks of the exporter's feeders, awaited before it closes. */
  readonly #feeders: { readonly settle: () => Promise<void>; readonly flush: () => Promise<void> }[] = [];
  /** Codes of failures that were already logged. */
  readonly #told = new Set<string>();

  /** Writes spans and counts the outcome of each. */
  protected abstract write(spans: readonly ReadableSpan[], tally: StoreTally): Promise<void>;
  /** Explains an error of {@link write} to the user. */
  protected abstract explain(error: unknown): Promise<ObservatoryError>;
  /** Closes the connections that the exporter opened. */
  protected abstract disconnect(): Promise<void>;

  /** Aborted when exports in progress are abandoned. */
  protected get end(): AbortSignal {
    return this.#end.signal;
  }

  /** Spans handled so far. */
  get stats(): ExporterStats {
    return { ...this.#stats };
  }

  /** Stores spans; the result is success (0), or failure (1) with an `ObservatoryError`. */
  export(spans: ReadableSpan[], resultCallback: ResultCallback): void {
    if (this.#isClosed) {
      this.#stats.failed += spans.length;
      const error = new ObservatoryError(
        'EXPORTER_SHUT_DOWN',
        `${spans.length} spans were exported after the exporter was shut down, and are not stored`,
      );
      this.#warnIfUnheard(error);
      answer(resultCallback, { code: FAILED, error });
      return;
    }
    const work = withoutTracing(() => this.#export(spans)).then(
      () => answer(resultCallback, { code: SUCCESS }),
      (error: ObservatoryError) => {
        this.#warnIfUnheard(error);
        answer(resultCallback, { code: FAILED, error });
      },
    );
    this.track(work);
  }

  /** Work that a flush waits for. */
  protected track(work: Promise<void>): void {
    this.#inFlight.add(work);
    void work.finally(() => this.#inFlight.delete(work));
  }

  /** Waits for what its processors have for it, and for exports in progress, which report through their callbacks. */
  async forceFlush(): Promise<void> {
    await Promise.allSettled(this.#feeders.map(({ flush }) => flush()));
    await Promise.all(this.#inFlight);
  }

  /**
   * Adds a processor with spans for this exporter; {@link shutdown} waits for it while the exporter still exports.
   * @param settle exports them, and ends the processor.
   * @param flush exports them.
   */
  beforeShutdown(settle: () => Promise<void>, flush: () => Promise<void>): void {
    this.#feeders.push({ settle, flush });
  }

  /**
   * Waits for exports in progress, and for the spans of a `DurableSpanProcessor` that feeds it. Closes connections that
   * the exporter opened; those passed to it stay open. Idempotent.
   * @param giveUp ends the wait: connections are destroyed, and the exports in progress fail.
   */
  shutdown(giveUp?: AbortSignal): Promise<void> {
    const abort = () => this.#end.abort();
    if (giveUp?.aborted) abort();
    else giveUp?.addEventListener('abort', abort, { once: true });
    this.#shutdown ??= this.#close();
    return this.#shutdown;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  async #close(): Promise<void> {
    // A processor logs its losses itself.
    await Promise.allSettled(this.#feeders.map(({ settle }) => settle()));
    this.#isClosed = true;
    await Promise.all(this.#inFlight);
    await this.disconnect();
  }

  /**
   * The SDK's processors log failures with `diag` alone, which prints nothing in a program without a logger. There the
   * first failure of a kind is a warning of the process.
   */
  #warnIfUnheard(error: ObservatoryError): void {
    if (this.#feeders.length > 0 || this.#told.has(error.code) || hasDiagLogger()) return;
    this.#told.add(error.code);
    process.emitWarning(`mcp-observatory: spans are not stored: ${error.message}`);
  }

  /** @throws ObservatoryError when any of the spans is not stored. */
  async #export(spans: readonly ReadableSpan[]): Promise<void> {
    const tally: StoreTally = { stored: 0, sanitized: 0, truncated: 0, refused: [] };
    try {
      await waitForResources(spans);
      await this.write(spans, tally);
    } catch (error) {
      throw await this.explain(error);
    } finally {
      this.#stats.exported += tally.stored;
      this.#stats.sanitised += tally.sanitized;
      this.#stats.truncated += tally.truncated;
      this.#stats.refused += tally.refused.length;
      this.#stats.failed += spans.length - tally.stored - tally.refused.length;
    }
    if (tally.refused.length > 0) {
      const error = new RefusedSpansError(tally.refused, spans.length);
      diag.error(`mcp-observatory: ${error.message}`);
      throw error;
    }
  }
}

/**
 * The database refused some spans of an export because of their content; code `DATABASE_REFUSED`. All others are
 * stored, so a retry would change nothing.
 */
export class RefusedSpansError extends ObservatoryError {
  /** Private, so that logging the error does not show the spans' content. */
  readonly #spans: readonly ReadableSpan[];

  constructor(refused: readonly RefusedSpan[], total: number) {
    const cause = withoutData(refused[0]?.reason);
    super(
      'DATABASE_REFUSED',
      `${refused.length} of ${total} spans were refused and are not stored; the other ${total - refused.length} are. ` +
        `First reason: ${cause.message}`,
      { cause },
    );
    this.name = 'RefusedSpansError';
    this.#spans = refused.map(({ span }) => span);
  }

  /** The spans that are not stored. */
  get refusedSpans(): readonly ReadableSpan[] {
    return this.#spans;
  }
}

async function waitForResources(spans: readonly ReadableSpan[]): Promise<void> {
  const pending = new Set(
    spans.map((span) => span.resource).filter((resource) => resource.asyncAttributesPending),
  );
  for (const resource of pending) await resource.waitForAsyncAttributes?.();
}

function answer(resultCallback: ResultCallback, result: Parameters<ResultCallback>[0]): void {
  try {
    resultCallback(result);
  } catch (error) {
    diag.error('mcp-observatory: the callback of an export failed', error);
  }
}
