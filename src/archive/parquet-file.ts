import { type CsvFile, readCsv } from './csv-file.ts';
import { type DuckDb, literal } from './duckdb.ts';
import { type DayRange, mayHaveDays } from './file-names.ts';

const DAY_MS = 86_400_000;

/** A complete file of an archive. */
interface ArchivedFile {
  readonly name: string;
  /** Path or URL under which DuckDB reads it. */
  readonly path: string;
}

/** Rows in the file, and rows left out because another file of the archive has them. */
interface Written {
  readonly written: number;
  readonly repeated: number;
}

/**
 * Writes rows to a new Parquet file, sorted and compressed.
 * @param others of the archive: a span that was sent again after its day had been archived is in one of them already.
 */
export async function writeParquet(
  duck: DuckDb,
  csv: CsvFile,
  target: string,
  others: readonly ArchivedFile[],
): Promise<Written> {
  await findRepeated(duck, csv, others);
  await duck.run(
    `COPY (SELECT * FROM ${readCsv(csv)} ANTI JOIN repeated USING (trace_id, span_id) ORDER BY service, start_time, span_id)
     TO ${literal(target)} (FORMAT parquet, COMPRESSION zstd)`,
  );
  return {
    written: await toCount(duck, `read_parquet(${literal(target)})`),
    repeated:
      others.length === 0 ? 0 : await toCount(duck, 'coming SEMI JOIN repeated USING (trace_id, span_id)'),
  };
}

/** How many spans of a file are neither in another one nor, as {@link writeParquet} has just seen, in the archive. */
export function countMissing(duck: DuckDb, file: string, other: string): Promise<number> {
  const [old, now] = [file, other].map(
    (path) => `(SELECT trace_id, span_id FROM read_parquet(${literal(path)}))`,
  );
  return toCount(
    duck,
    `(SELECT * FROM ${old} ANTI JOIN ${now} USING (trace_id, span_id)) ANTI JOIN repeated USING (trace_id, span_id)`,
  );
}

/** Fills the table `repeated` with the ids of rows that are in the archive already. */
async function findRepeated(duck: DuckDb, csv: CsvFile, others: readonly ArchivedFile[]): Promise<void> {
  const [trace, span] = ['trace_id', 'span_id'];
  await duck.run(`CREATE OR REPLACE TEMP TABLE repeated (${trace} UUID, ${span} UUID)`);
  if (others.length === 0) return;
  await duck.run(
    `CREATE OR REPLACE TEMP TABLE coming AS SELECT ${trace}, ${span}, start_time FROM ${readCsv(csv)}`,
  );
  const days = await findDays(duck);
  for (const { path } of others.filter(({ name }) => days !== undefined && mayHaveDays(name, days))) {
    await duck.run(
      `INSERT INTO repeated SELECT ${trace}, ${span} FROM read_parquet(${literal(path)})
        SEMI JOIN coming USING (${trace}, ${span})`,
    );
  }
}

/** The days of the new rows, and the days around them. */
async function findDays(duck: DuckDb): Promise<DayRange | undefined> {
  const { rows } = await duck.read(
    'SELECT epoch_ms(min(start_time))::DOUBLE, epoch_ms(max(start_time))::DOUBLE FROM coming',
    1,
  );
  const [first, last] = rows[0] ?? [];
  if (typeof first !== 'number' || typeof last !== 'number') return undefined;
  return { from: formatDay(first - DAY_MS), to: formatDay(last + DAY_MS) };
}

function formatDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

async function toCount(duck: DuckDb, from: string): Promise<number> {
  return Number((await duck.read(`SELECT count(*)::DOUBLE FROM ${from}`, 1)).rows[0]?.[0]);
}
