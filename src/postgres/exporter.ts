import { diag } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { ObservatoryError, withoutTracing } from '../base/index.ts';
import { isCopyPool } from './copy-in.ts';
import { CopyWriter } from './copy-writer.ts';
import { isSchemaAtFault, toObservatoryError, withoutData } from './database-error.ts';
import { migrate, schemaVersion, tooNew } from './migrate.ts';
import { LATEST_MIGRATION } from './migrations.ts';
import {
  type PostgresSpanExporterOptions,
  type ResolvedExporterOptions,
  resolveExporterOptions,
} from './options.ts';
import { createPartitions } from './partitions.ts';
import { type OwnPool, openPool } from './pool.ts';
import { RefusedSpansError } from './refused-spans.ts';
import type { StoreTally } from './store.ts';
import type { Queryable } from './types.ts';
import { insertWriter, type SpanWriter } from './writer.ts';

type ResultCallback = Parameters<SpanExporter['export']>[1];

/** `ExportResultCode` of `@opentelemetry/core`. */
const SUCCESS = 0;
const FAILED = 1;

/** How often partitions for the days to come are made; the first time with the first export. */
const PARTITIONS_EVERY_MS = 3_600_000;

/** Spans handled since the exporter was made. */
export interface ExporterStats {
  /** Stand in the table: written by this exporter, or there already. */
  readonly exported: number;
  /** Of these, those with values that cannot be stored as they are; their rows name them under `observatory.sanitised`. */
  readonly sanitised: number;
  /** Of these, those with values longer than the limits; their rows name them. */
  readonly truncated: number;
  /** Not known to be stored because an export failed as a whole: no connection, no table and the like. */
  readonly failed: number;
  /** Refused by the database, or without a valid id; all others of their export are stored. */
  readonly refused: number;
}

/**
 * Writes spans to the table `mcp_traces`.
 *
 * An export is one statement (several when it is large), binary COPY where the connection is of `pg` and INSERT
 * elsewhere, and writing a span twice is harmless. Several exports may be under way at the same time, each on a
 * connection of its own. It answers success only when every span of it is stored. A span the database refuses does not
 * take others with it: those are stored, and the answer is a {@link RefusedSpansError}, also told through `diag`.
 *
 * Give it to a `DurableSpanProcessor`, which loses nothing, or to a `BatchSpanProcessor`. It never throws into the host.
 */
export class PostgresSpanExporter implements SpanExporter, AsyncDisposable {
  readonly #options: ResolvedExporterOptions;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #stats = { exported: 0, sanitised: 0, truncated: 0, failed: 0, refused: 0 };
  #pool: Promise<OwnPool> | undefined;
  #writer: SpanWriter | undefined;
  #partitionsMadeAt = Number.NEGATIVE_INFINITY;
  #migration: Promise<unknown> | undefined;
  #shutdown: Promise<void> | undefined;

  /** @throws ObservatoryError `INVALID_OPTION` for options that cannot be used. Nothing is opened yet. */
  constructor(options: PostgresSpanExporterOptions) {
    this.#options = resolveExporterOptions(options);
  }

  /** Spans handled so far. */
  get stats(): ExporterStats {
    return { ...this.#stats };
  }

  /** Stores spans and answers through the callback, success (0) or failure (1) with an `ObservatoryError`. */
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

  /** Waits for exports in progress. Each reports its result to its own callback. */
  async forceFlush(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  /**
   * Waits for the exports that have begun, and closes the connections that the exporter opened; those given to it
   * stay open. Calling it again does nothing.
   */
  shutdown(): Promise<void> {
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

  /** Makes partitions ahead beside the exports. Where that may not be, rows go to the default partition. */
  #keepPartitions(db: Queryable): void {
    if (performance.now() - this.#partitionsMadeAt < PARTITIONS_EVERY_MS || !isCopyPool(db)) return;
    this.#partitionsMadeAt = performance.now();
    const work = createPartitions(db).then(
      () => {},
      (error: unknown) => diag.debug(`mcp-observatory: no partitions made: ${withoutData(error).message}`),
    );
    this.#track(work);
  }

  #writerTo(db: Queryable): SpanWriter {
    const isCopying = this.#options.copy && isCopyPool(db);
    return isCopying ? new CopyWriter(db, this.#options) : insertWriter(db, this.#options);
  }

  /** The connection to write to, opened and migrated the first time; a migration that failed is tried again. */
  async #database(): Promise<Queryable> {
    const { connection } = this.#options;
    if (typeof connection === 'string') this.#pool ??= openPool(connection, this.#options);
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
