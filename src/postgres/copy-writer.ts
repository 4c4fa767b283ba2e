import { createHash } from 'node:crypto';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { COLUMNS, FIELDS } from '../base/index.ts';
import { type BatchLimits, type SpanWriter, writeInBatches } from './batches.ts';
import { joinPlaces, type Place } from './byte-writer.ts';
import { ALL_COLUMNS, type ColumnList } from './column-list.ts';
import { type CopyClient, type CopyPool, canCopy, copyIn, withClient } from './copy-in.ts';
import { readSqlState } from './database-error.ts';
import { GrowingRows } from './growing-rows.ts';
import {
  encodeForInsert,
  type InsertRow,
  insertRows,
  OTHER_UNIQUE_INDEX,
  refuseUniqueIndex,
  witnessOn,
} from './insert-writer.ts';
import { BINARY_HEADER, BINARY_TRAILER, RowEncoder } from './row-encoder.ts';
import type { ResolvedRowLimits } from './row-limits.ts';
import type { BatchSink, EncodedSpan, StoreTally } from './row-sink.ts';
import type { Witness } from './witness.ts';

const NAMES = COLUMNS.join(', ');

/**
 * Holds rows that may exist. A pooler may share the connection with another version of this package, so its name
 * identifies the columns.
 */
const STAGING = `pg_temp.mcp_traces_staging_${createHash('sha256').update(NAMES).digest('hex').slice(0, 8)}`;

/** The fastest statement. It is its own transaction, and fails as a whole if one of the rows exists. */
const copyToTable = ({ columns }: ColumnList) =>
  `COPY mcp_traces (${columns.join(', ')}) FROM STDIN WITH (FORMAT binary)`;

/** For rows that may exist. Sent as one message, so that it is one transaction, also behind a pooler. */
const copyByStaging = ({ columns }: ColumnList) => `
SET LOCAL client_min_messages = warning;
CREATE TABLE IF NOT EXISTS ${STAGING}
  (${FIELDS.map(({ column, sqlType }) => `${column} ${sqlType}`).join(', ')}) ON COMMIT DELETE ROWS;
COPY ${STAGING} (${columns.join(', ')}) FROM STDIN WITH (FORMAT binary);
${OTHER_UNIQUE_INDEX};
INSERT INTO mcp_traces (${NAMES}) SELECT ${NAMES} FROM ${STAGING} ON CONFLICT DO NOTHING`;

const UNIQUE_VIOLATION = '23505';
/** COPY is impossible: row-level security, a view, or a role that may not create temporary tables. */
const NO_COPY: ReadonlySet<string> = new Set(['0A000', '42501', '42809']);

interface CopyRow extends EncodedSpan {
  readonly place: Place;
  readonly form: ColumnList;
}

/**
 * Writes with binary COPY over a pool of `pg`, about a third cheaper for Node and the server than INSERT. The rows in
 * the table are the same.
 *
 * A statement begins with the first rows of an export, so that the server reads them while the others are encoded. Rows
 * go straight to the table. If one exists already, they go through a temporary table, as do all following rows
 * until the first statement without duplicates. Where COPY is refused, INSERT replaces it for good.
 */
export class CopyWriter implements SpanWriter {
  readonly #pool: CopyPool;
  readonly #limits: BatchLimits;
  readonly #encoder: RowEncoder;
  readonly #witness: Witness;
  readonly #encodeForInsert = (span: ReadableSpan): InsertRow => encodeForInsert(this.#encoder, span);
  /** Whether rows went to the table, and through the temporary table, when that was last tried. */
  readonly #isProven = { direct: false, staging: false };
  #expectsDuplicates = false;
  #isRefused = false;

  constructor(pool: CopyPool, limits: BatchLimits & ResolvedRowLimits) {
    this.#pool = pool;
    this.#limits = limits;
    this.#encoder = new RowEncoder(limits);
    this.#witness = witnessOn(pool, this.#encoder);
  }

  write(spans: readonly ReadableSpan[], tally: StoreTally): Promise<void> {
    if (this.#isRefused) {
      const writeRows = (rows: readonly InsertRow[]) => insertRows(this.#pool, rows);
      const sink = { encode: this.#encodeForInsert, writeRows, witness: this.#witness };
      return writeInBatches(spans, this.#limits, sink, tally);
    }
    return writeInBatches(spans, this.#limits, this.#sink(), tally);
  }

  /** The rows of an export have the columns that were used before, and all columns from the first row that needs more. */
  #sink(): BatchSink<CopyRow> {
    let form = this.#encoder.usedColumns;
    return {
      encode: (span) => {
        const { place, list, isSanitized, isTruncated } = this.#encoder.binary(span, form);
        form = list;
        return { span, place, form, size: place.end - place.start, isSanitized, isTruncated };
      },
      writeRows: (rows) => {
        const all = new GrowingRows<CopyRow>();
        for (const row of rows) all.add(row);
        all.complete();
        return this.#write(all);
      },
      writeGrowing: (rows) => this.#write(rows),
      witness: this.#witness,
    };
  }

  async #write(rows: GrowingRows<CopyRow>, byStaging = this.#expectsDuplicates): Promise<void> {
    try {
      if (await withClient(this.#pool, (client) => this.#copy(client, rows, byStaging))) return;
    } catch (error) {
      const state = readSqlState(error) ?? '';
      if (state === UNIQUE_VIOLATION && !byStaging) {
        this.#expectsDuplicates = true;
        return this.#write(rows, true);
      }
      if (!NO_COPY.has(state)) throw error;
    }
    const all = await rows.all();
    await insertRows(
      this.#pool,
      all.map((row) => this.#encodeForInsert(row.span)),
    );
    this.#isRefused = true;
  }

  /** @returns whether this connection supports COPY. */
  async #copy(client: CopyClient, rows: GrowingRows<CopyRow>, byStaging: boolean): Promise<boolean> {
    if (this.#isRefused || !canCopy(client)) return false;
    const list = rows.rows[0]?.form ?? ALL_COLUMNS;
    const sql = byStaging ? copyByStaging(list) : copyToTable(list);
    const way = byStaging ? 'staging' : 'direct';
    const tags = await copyIn(client, sql, readBinary(rows), this.#isProven[way]).catch((error: unknown) => {
      this.#isProven[way] = false;
      throw error;
    });
    this.#isProven[way] = true;
    if (!byStaging) return true;
    this.#expectsDuplicates = tags.at(-1) !== `INSERT 0 ${rows.rows.length}`;
    if (this.#expectsDuplicates && tags.at(-2) !== 'SELECT 0') {
      refuseUniqueIndex((await this.#pool.query(OTHER_UNIQUE_INDEX)).rows[0]?.name);
    }
    return true;
  }
}

/** The data of COPY: the rows encoded so far, then the others as they are encoded. */
async function* readBinary(rows: GrowingRows<CopyRow>): AsyncGenerator<readonly Buffer[]> {
  yield [BINARY_HEADER];
  for await (const portion of rows.portions()) yield joinPlaces(portion.map(({ place }) => place));
  yield [BINARY_TRAILER];
}
