import { diag } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { ObservatoryError, withoutTracing } from '../base/index.ts';
import type { RefusedSpan, SpanWriter, StoreTally } from './batches.ts';
import { isCopyPool } from './copy-in.ts';
import { CopyWriter } from './copy-writer.ts';
import { isSchemaAtFault, toObservatoryError, withoutData } from './database-error.ts';
import { insertWriter } from './insert-writer.ts';
import { migrate, schemaVersion, tooNew } from './migrate.ts';
import { LATEST_MIGRATION } from './migrations.ts';
import {
  type PostgresSpanExporterOptions,
  type ResolvedExporterOptions,
  resolveExporterOptions,
} from './options.ts';
import { createPartitions } from './partitions.ts';
import { type OwnPool, openPool } from './pool.ts';
import type { Queryable } from './types.ts';

type ResultCallback = Parameters<SpanExporter['export']>[1];

/** `ExportResultCode` of `@opentelemetry/core`. */
const SUCCESS = 0;
const FAILED = 1;

/** How often future partitions are created; first with the first export. */
const PARTITIONS_EVERY_MS = 3_600_000;

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
 * Writes spans to the table `mcp_traces`.
 *
 * An export is one statement, or several when it is large: binary COPY over connections of `pg`, INSERT over others.
 * Writing a span twice is harmless. Exports may run concurrently, each on its own connection. An export succeeds only
 * when all of its spans are stored. If the database refuses some, the others are stored and the result is a
 * {@link RefusedSpansError}, which is also reported through `diag`.
 *
 * Use it with a `DurableSpanProcessor`, which loses nothing, or a `BatchSpanProcessor`. It never throws into the host.
 */
export class PostgresSpanExporter implements SpanExporter, AsyncDisposable {
  readonly #options: ResolvedExporterOptions;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #stats = { exported: 0, sanitised: 0, truncated: 0, failed: 0, refused: 0 };
  #pool: Promise<OwnPool> | undefined;
  #writer: SpanWriter | undefined;
  #partitionsMadeAt = Number.NEGATIVE_INFINITY;
  #migration: Promise<unknown> | undefined;
  /** Aborted when exports in progress are given up. */
  readonly #end = new AbortController();
  #shutdown: Promise<void> | undefined;

  /** @throws ObservatoryError `INVALID_OPTION` for options that cannot be used. Opens nothing. */
  constructor(options: PostgresSpanExporterOptions) {
    this.#options = resolveExporterOptions(options);
  }

  /** Spans handled so far. */
  get stats(): ExporterStats {
    return { ...this.#stats };
  }

  /** Stores spans; the result is success (0), or failure (1) with an `ObservatoryError`. */
  export(spans: ReadableSpan[], resultCallback: ResultCallback): void {
    if (this.#shutdown !== undefined) {
      this.#stats.failed += spans.length;
      const error = new ObservatoryError(
        'EXPORTER_SHUT_DOWN',
        `${spans.length} spans were exported after the exporter was shut down, and are not stored`,
      );
      answer(resultCallback, { code: FAILED, error });
      return;
    }
    const work = withoutTracing(() => this.#export(spans)).then(
      () => answer(resultCallback, { code: SUCCESS }),
      (error: ObservatoryError) => answer(resultCallback, { code: FAILED, error }),
    );
    this.#track(work);
  }

  #track(work: Promise<void>): void {
    this.#inFlight.add(work);
    void work.finally(() => this.#inFlight.delete(work));
  }

  /** Waits for exports in progress, which report through their callbacks. */
  async forceFlush(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  /**
   * Waits for exports in progress and closes connections that the exporter opened; those passed to it stay open.
   * Idempotent.
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
    await Promise.all(this.#inFlight);
    const pool = await this.#pool?.catch(() => undefined);
    await pool?.end();
  }

  /** @throws ObservatoryError when any of the spans is not stored. */
  async #export(spans: readonly ReadableSpan[]): Promise<void> {
    const tally: StoreTally = { stored: 0, sanitized: 0, truncated: 0, refused: [] };
    try {
      await waitForResources(spans);
      const db = await this.#database();
      this.#writer ??= this.#writerTo(db);
      await this.#writer.write(spans, tally);
      this.#keepPartitions(db);
    } catch (error) {
      throw await this.#explain(error);
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

  /** Creates future partitions, concurrently with exports. If that fails, rows go to the default partition. */
  #keepPartitions(db: Queryable): void {
    if (performance.now() - this.#partitionsMadeAt < PARTITIONS_EVERY_MS || !isCopyPool(db)) return;
    this.#partitionsMadeAt = performance.now();
    const work = createPartitions(db).then(
      () => {},
      (error: unknown) => diag.debug(`mcp-observatory: no partitions created: ${withoutData(error).message}`),
    );
    this.#track(work);
  }

  #writerTo(db: Queryable): SpanWriter {
    const isCopying = this.#options.copy && isCopyPool(db);
    return isCopying ? new CopyWriter(db, this.#options) : insertWriter(db, this.#options);
  }

  /** The connection, opened and migrated on first use; a failed migration is retried. */
  async #database(): Promise<Queryable> {
    const { connection } = this.#options;
    if (typeof connection === 'string') this.#pool ??= openPool(connection, this.#options, this.#end.signal);
    const db = typeof connection === 'string' ? await (this.#pool as Promise<OwnPool>) : connection;
    if (this.#options.migrate) {
      this.#migration ??= migrate(db).catch((error: unknown) => {
        this.#migration = undefined;
        throw error;
      });
      await this.#migration;
    }
    return db;
  }

  async #explain(error: unknown): Promise<ObservatoryError> {
    if (isSchemaAtFault(error)) {
      const version = await this.#database()
        .then(schemaVersion)
        .catch(() => 0);
      if (version > LATEST_MIGRATION) return tooNew(version);
    }
    return toObservatoryError(error, this.#options.databaseName);
  }
}

/**
 * The database refused some spans of an export because of their content; code `DATABASE_REFUSED`. All others are
 * stored, so a retry would change nothing.
 */
export class RefusedSpansError extends ObservatoryError {
  /** Private, so that a log of the error does not show what is in the spans. */
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
