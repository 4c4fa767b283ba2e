import { diag } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type ObservatoryError, withoutTracing } from '../base/index.ts';
import type { SpanWriter } from './batches.ts';
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
import type { StoreTally } from './row-sink.ts';
import { SpanStoreExporter } from './store-exporter.ts';
import type { Queryable } from './types.ts';

/** How often future partitions are created; first with the first export. */
const PARTITIONS_EVERY_MS = 3_600_000;

/**
 * Writes spans to the table `mcp_traces`.
 *
 * An export is one statement, or several when it is large: binary COPY over connections of `pg`, INSERT over others.
 * Writing a span twice is harmless. Exports may run concurrently, each on its own connection. An export succeeds only
 * when all of its spans are stored. If the database refuses some, the others are stored and the result is a
 * `RefusedSpansError`, which is also reported through `diag`.
 *
 * Use it with a `DurableSpanProcessor`, which loses nothing, or a `BatchSpanProcessor`. It never throws into the host.
 */
export class PostgresSpanExporter extends SpanStoreExporter {
  readonly #options: ResolvedExporterOptions;
  #pool: Promise<OwnPool> | undefined;
  #writer: SpanWriter | undefined;
  #partitionsMadeAt = Number.NEGATIVE_INFINITY;
  #migration: Promise<unknown> | undefined;
  #isMigrating = false;
  #seeTables = (): void => {};
  readonly #tablesSeen = new Promise<void>((resolve) => {
    this.#seeTables = resolve;
  });

  /** @throws ObservatoryError `INVALID_OPTION` for options that cannot be used. Opens nothing. */
  constructor(options: PostgresSpanExporterOptions) {
    super();
    this.#options = resolveExporterOptions(options);
  }

  /** Connects, and creates the tables if asked to, before there are spans; failures are those of the first export. */
  prepare(): void {
    void withoutTracing(() => this.#database())
      .catch(() => {})
      .then(this.#seeTables);
  }

  /** Whether tables are being created or updated. */
  get isMigrating(): boolean {
    return this.#isMigrating;
  }

  /** Settles when it is known whether {@link isMigrating}, or the database cannot be asked. */
  get tablesSeen(): Promise<void> {
    return this.#pool === undefined ? Promise.resolve() : this.#tablesSeen;
  }

  protected async write(spans: readonly ReadableSpan[], tally: StoreTally): Promise<void> {
    const db = await this.#database();
    this.#writer ??= this.#writerTo(db);
    await this.#writer.write(spans, tally);
    this.#keepPartitions(db);
  }

  protected async disconnect(): Promise<void> {
    const pool = await this.#pool?.catch(() => undefined);
    await pool?.end();
  }

  /** Creates future partitions, concurrently with exports. If that fails, rows go to the default partition. */
  #keepPartitions(db: Queryable): void {
    if (performance.now() - this.#partitionsMadeAt < PARTITIONS_EVERY_MS || !isCopyPool(db)) return;
    this.#partitionsMadeAt = performance.now();
    const work = createPartitions(db).then(
      () => {},
      (error: unknown) => diag.debug(`mcp-observatory: no partitions created: ${withoutData(error).message}`),
    );
    this.track(work);
  }

  #writerTo(db: Queryable): SpanWriter {
    const isCopying = this.#options.copy && isCopyPool(db);
    return isCopying ? new CopyWriter(db, this.#options) : insertWriter(db, this.#options);
  }

  /** The connection, opened and migrated on first use; a failed migration is retried. */
  async #database(): Promise<Queryable> {
    const { connection } = this.#options;
    if (typeof connection === 'string') this.#pool ??= openPool(connection, this.#options, this.end);
    const db = typeof connection === 'string' ? await (this.#pool as Promise<OwnPool>) : connection;
    if (this.#options.migrate) {
      this.#migration ??= this.#migrate(db).catch((error: unknown) => {
        this.#migration = undefined;
        throw error;
      });
      await this.#migration;
    }
    return db;
  }

  async #migrate(db: Queryable): Promise<void> {
    try {
      this.#isMigrating = (await schemaVersion(db)) < LATEST_MIGRATION;
    } catch {
      // The migration reports connection errors.
    }
    this.#seeTables();
    await migrate(db).finally(() => {
      this.#isMigrating = false;
    });
  }

  protected async explain(error: unknown): Promise<ObservatoryError> {
    if (isSchemaAtFault(error)) {
      const version = await this.#database()
        .then(schemaVersion)
        .catch(() => 0);
      if (version > LATEST_MIGRATION) return tooNew(version);
    }
    return toObservatoryError(error, this.#options.databaseName);
  }
}
