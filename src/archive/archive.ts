import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ObservatoryError } from '../base/index.ts';
import {
  aloneArchiving,
  type CopyPool,
  countAll,
  dropCounted,
  listPartitions,
  type Partition,
  quotedName,
  setLateAside,
  tablesSetAside,
} from '../postgres/index.ts';
import { archivedFiles } from './archived-files.ts';
import { readCsv, writeCsv } from './csv-file.ts';
import { type DuckDb, literal, openDuckDb } from './duckdb.ts';

/** How often a day is written again because spans of it came meanwhile. */
const MAX_ATTEMPTS = 5;

/** A file of an archive, or in a dry run one to be made. */
export interface ArchivedTable {
  /** Partition or table whose rows are in it. */
  readonly table: string;
  /** Path in the archive. */
  readonly file: string;
  /** Spans in it; null in a dry run. A day without spans has no file. */
  readonly rows: number | null;
}

export interface ArchiveOptions {
  /** Only report. @defaultValue false */
  readonly isDryRun?: boolean | undefined;
  /** Called for each file once its rows are no longer in the database. */
  readonly onArchived?: ((table: ArchivedTable) => void) | undefined;
}

/**
 * Moves closed days of `mcp_traces` into Parquet files: `day=2026-11-22/mcp_traces_20261122.parquet` and so on, sorted
 * by service and start, compressed with zstd. A day stays in the database until its file is whole and on disk, its spans
 * are counted in the roll-ups, and a lock shows that it received none meanwhile; then its partition is dropped. A process
 * that is killed at any moment leaves the day, or the file, or both; the next run replaces the file and goes on. Spans that arrive after their
 * day was archived go to a file of their own, without those that are in the archive already.
 *
 * @param before days that ended by then are closed.
 * @throws ObservatoryError `MISSING_PEER` without DuckDB, `ARCHIVE_REFUSED` when a file cannot be written; else the
 *   driver's error.
 */
export async function archive(
  pool: CopyPool,
  folder: string,
  before: Date,
  options: ArchiveOptions = {},
): Promise<ArchivedTable[]> {
  const { isDryRun = false, onArchived } = options;
  const closed = async () => (await listPartitions(pool)).filter((partition) => isClosed(partition, before));
  if (isDryRun) {
    return (await closed()).map(({ name, from }) => ({ table: name, file: fileOf(name, from), rows: null }));
  }
  const done = await aloneArchiving(pool, async () =>
    archiveTables(pool, folder, before, await closed(), onArchived),
  );
  if (done !== undefined) return done;
  throw new ObservatoryError('ARCHIVE_REFUSED', 'Another process is archiving this database');
}

async function archiveTables(
  pool: CopyPool,
  folder: string,
  before: Date,
  closed: readonly Partition[],
  onArchived: ArchiveOptions['onArchived'],
): Promise<ArchivedTable[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await using work = await workFolder(folder);
  await using duck = await openDuckDb(work.path);
  const done: ArchivedTable[] = [];
  const add = async (table: string, day: string | null) => {
    const file = fileOf(table, day);
    const rows = await archiveTable({ pool, duck, folder, work: work.path }, table, file);
    done.push({ table, file, rows });
    onArchived?.({ table, file, rows });
  };
  for (const { name, from } of closed) await add(name, from);
  await setLateAside(pool, before, await countAll(pool));
  for (const table of await tablesSetAside(pool)) await add(table, null);
  return done;
}

interface Place {
  readonly pool: CopyPool;
  readonly duck: DuckDb;
  readonly folder: string;
  readonly work: string;
}

/** Whether it is the partition of one day that is over. Rows from before partitions, or without a start, stay. */
function isClosed({ from, to }: Partition, before: Date): boolean {
  return from !== null && to !== null && Date.parse(to) <= before.getTime();
}

function fileOf(table: string, day: string | null): string {
  return join(day === null ? 'late' : `day=${day.slice(0, 10)}`, `${table}.parquet`);
}

async function archiveTable(place: Place, table: string, file: string): Promise<number> {
  const { pool, folder } = place;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    // Before the rows are read: what is below the mark is in the file, and in the roll-ups, which outlive it.
    const mark = await countAll(pool);
    const rows = (await isEmpty(pool, table)) ? 0 : await writeParquet(place, table, join(folder, file));
    if (await dropCounted(pool, table, mark)) return rows;
  }
  throw new ObservatoryError(
    'ARCHIVE_REFUSED',
    `${table} still receives spans: it changed ${MAX_ATTEMPTS} times while it was written to ${file}. Archive it later`,
  );
}

async function isEmpty(pool: CopyPool, table: string): Promise<boolean> {
  const { rows } = await pool.query(`SELECT NOT EXISTS (SELECT FROM ${quotedName(table)}) AS is_empty`);
  return rows[0]?.is_empty === true;
}

/** Writes a table to a file that is whole and on disk when this resolves. */
async function writeParquet(
  { pool, duck, folder, work }: Place,
  table: string,
  path: string,
): Promise<number> {
  const name = randomBytes(6).toString('hex');
  const csv = await writeCsv(pool, quotedName(table), join(work, `${name}.csv`));
  const target = join(work, `${name}.parquet`);
  const known = path.startsWith(join(folder, 'late'))
    ? (await archivedFiles(folder)).filter((file) => file !== path)
    : [];
  // A span that was sent again after its day had been archived is in the archive already.
  const fresh =
    known.length === 0
      ? ''
      : `ANTI JOIN read_parquet([${known.map(literal).join(', ')}], union_by_name = true) USING (trace_id, span_id)`;
  await duck.run(
    `COPY (SELECT * FROM ${readCsv(csv)} ${fresh} ORDER BY service, start_time, span_id)
     TO ${literal(target)} (FORMAT parquet, COMPRESSION zstd)`,
  );
  const { rows } = await duck.read(`SELECT count(*)::INTEGER FROM read_parquet(${literal(target)})`, 1);
  const written = Number(rows[0]?.[0]);
  if (known.length === 0 && written !== csv.rows) {
    throw new ObservatoryError(
      'ARCHIVE_REFUSED',
      `Of ${csv.rows} rows of ${table}, ${written} are in its Parquet file. The rows are still in the database`,
    );
  }
  await rm(csv.path);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await chmod(target, 0o600);
  await flushToDisk(target);
  await rename(target, path);
  await flushToDisk(dirname(path));
  return written;
}

async function flushToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A folder on the disk of the archive for what is under way; what an earlier process left there is removed. */
async function workFolder(folder: string): Promise<AsyncDisposable & { readonly path: string }> {
  const path = join(folder, '.work');
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { mode: 0o700 });
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
