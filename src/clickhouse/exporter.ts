import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { ObservatoryError } from '../base/index.ts';
import {
  joinPlaces,
  type Place,
  SpanStoreExporter,
  type StoreTally,
  Witness,
  writeInBatches,
} from '../postgres/index.ts';
import { type ClickHouseConnection, openClickHouse, runOnClickHouse } from './connection.ts';
import { isRowRefused, toClickHouseError, withoutValues } from './errors.ts';
import { createTables } from './migrate.ts';
import {
  type ClickHouseSpanExporterOptions,
  type ResolvedClickHouseOptions,
  resolveClickHouseOptions,
} from './options.ts';
import { ROW_COLUMNS, RowBinaryEncoder } from './row-binary.ts';

const INSERT = `INSERT INTO mcp_traces (${ROW_COLUMNS.join(', ')}) FORMAT RowBinary`;

interface EncodedRow {
  readonly span: ReadableSpan;
  readonly place: Place;
  readonly size: number;
  readonly isSanitized: boolean;
  readonly isTruncated: boolean;
}

/**
 * Writes spans to the table `mcp_traces` of ClickHouse, whose columns are those of the table in Postgres.
 *
 * An export is one insert, or several when it is large. Writing a span twice is harmless: a repeated insert is recognized
 * by its token, and rows of one span become one when the server merges them; until then, `FINAL` and the view
 * `mcp_traces_hex` count them once. If the server refuses some spans for their content, the others are stored.
 *
 * Use it with a `DurableSpanProcessor` or the service (`mcp-observatory collect`), which lose nothing and make the large
 * batches that ClickHouse wants. It never throws into the host.
 */
export class ClickHouseSpanExporter extends SpanStoreExporter {
  readonly #options: ResolvedClickHouseOptions;
  readonly #encoder: RowBinaryEncoder;
  #opened: Promise<ClickHouseConnection> | undefined;
  #migration: Promise<void> | undefined;

  /** @throws ObservatoryError `INVALID_OPTION` for options that cannot be used. Opens nothing. */
  constructor(options: ClickHouseSpanExporterOptions) {
    super();
    this.#options = resolveClickHouseOptions(options);
    this.#encoder = new RowBinaryEncoder(this.#options);
  }

  protected async write(spans: readonly ReadableSpan[], tally: StoreTally): Promise<void> {
    const connection = await this.#connection();
    const sink = {
      encode: (span: ReadableSpan): EncodedRow => {
        const { place, isSanitized, isTruncated } = this.#encoder.encode(span);
        return { span, place, size: place.end - place.start, isSanitized, isTruncated };
      },
      writeRows: (rows: readonly EncodedRow[]) => this.#insert(connection, rows),
      isRowAtFault: isRowRefused,
      witness: new Witness(),
    };
    await writeInBatches(spans, this.#options, sink, tally);
  }

  protected async explain(error: unknown): Promise<ObservatoryError> {
    return toClickHouseError(error, this.#options.databaseName);
  }

  protected async disconnect(): Promise<void> {
    const connection = await this.#opened?.catch(() => undefined);
    await connection?.close();
  }

  async #insert(connection: ClickHouseConnection, rows: readonly EncodedRow[]): Promise<void> {
    const buffers = joinPlaces(rows.map(({ place }) => place));
    const hash = createHash('sha256');
    for (const buffer of buffers) hash.update(buffer);
    await runOnClickHouse(connection, {
      query: INSERT,
      values: Readable.from(buffers, { objectMode: false }),
      clickhouse_settings: { ...this.#options.settings, insert_deduplication_token: hash.digest('hex') },
      abort_signal: this.end,
    }).catch((error: unknown) => {
      throw withoutValues(error);
    });
  }

  /** The connection, with its tables on first use; what failed is tried again. */
  async #connection(): Promise<ClickHouseConnection> {
    const { connection, connecting, migrate, keepDays } = this.#options;
    if (typeof connection === 'string') this.#opened ??= openClickHouse(connection, connecting);
    const open =
      typeof connection === 'string' ? await (this.#opened as Promise<ClickHouseConnection>) : connection;
    if (migrate) {
      this.#migration ??= createTables(open, keepDays).catch((error: unknown) => {
        this.#migration = undefined;
        throw error;
      });
      await this.#migration;
    }
    return open;
  }
}
