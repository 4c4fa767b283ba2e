import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ObservatoryError } from '../base/index.ts';
import {
  aloneArchiving,
  type CopyPool,
  countAll,
  countLate,
  dropCounted,
  listPartitions,
  type Partition,
  refuseOtherTables,
  type StoredTable,
  setLateAside,
  tablesSetAside,
} from '../postgres/index.ts';
import { writeCsv } from './csv-file.ts';
import { nameOfFile } from './file-names.ts';
import { openArchive } from './open-archive.ts';
import { countMissing, writeParquet } from './parquet-file.ts';
import type { OpenArchive } from './store.ts';

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
  /**
   * Called with the number of late spans that stay in the database, if any do: a transaction on the server that began
   * before they were stored is still open. The next run takes them.
   */
  readonly onLateLeft?: ((spans: number) => void) | undefined;
}

/**
 * Moves closed days of `mcp_traces` into Parquet files: `day=2026-11-22/mcp_traces_20261122.parquet` and so on, sorted
 * by service and start, compressed with zstd. A day stays in the database until its file is whole and durable, its spans
 * are counted in the roll-ups, and a lock shows that it received none meanwhile; then its partition is dropped. A process
 * that is killed at any moment leaves the day, or the file, or both; the next run replaces the file and goes on, unless
 * spans of that file are not in the database. Spans that arrive after their day was archived go to a file of their own,
 * without those that are in the archive already.
 *
 * @param address of the archive: a folder, or `s3://bucket/prefix`.
 * @param before days that ended by then are closed.
 * @throws ObservatoryError `MISSING_PEER` without DuckDB or its extension for S3, `ARCHIVE_REFUSED` when a file cannot be
 *   written; else the driver's error.
 */
export async function archive(
  pool: CopyPool,
  address: string,
  before: Date,
  options: ArchiveOptions = {},
): Promise<ArchivedTable[]> {
  const { isDryRun = false } = options;
  await refuseOtherTables(pool);
  const closed = async () => (await listPartitions(pool)).filter((partition) => isClosed(partition, before));
  if (isDryRun) {
    return (await closed()).map(({ name, from }) => ({
      table: name,
      file: nameOfFile(name, from),
      rows: null,
    }));
  }
  const done = await aloneArchiving(pool, async () => {
    // Only now, because it replaces files that a killed process left.
    await using opened = await openArchive(address, true);
    return await archiveTables(pool, opened, before, await closed(), options);
  });
  if (done !== undefined) return done;
  throw new ObservatoryError('ARCHIVE_REFUSED', 'Another process is archiving this database');
}

async function archiveTables(
  pool: CopyPool,
  opened: OpenArchive,
  before: Date,
  closed: readonly Partition[],
  { onArchived, onLateLeft }: ArchiveOptions,
): Promise<ArchivedTable[]> {
  const done: ArchivedTable[] = [];
  const add = async (table: StoredTable, day: string | null) => {
    const file = nameOfFile(table.name, day);
    const rows = await archiveTable(pool, opened, table, file);
    const archived = { table: table.name, file, rows };
    done.push(archived);
    onArchived?.(archived);
  };
  for (const partition of closed) await add(partition, partition.from);
  await setLateAside(pool, before, await countAll(pool));
  for (const table of await tablesSetAside(pool)) await add(table, null);
  const left = await countLate(pool, before);
  if (left > 0) onLateLeft?.(left);
  return done;
}

/** Whether it is the partition of one day that is over. Rows of the default partition stay. */
function isClosed({ from, to }: Partition, before: Date): boolean {
  return from !== null && to !== null && Date.parse(to) <= before.getTime();
}

async function archiveTable(
  pool: CopyPool,
  opened: OpenArchive,
  { name, table }: StoredTable,
  file: string,
): Promise<number> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    // Before the rows are read: all rows below the mark are then in the file and in the roll-ups.
    const mark = await countAll(pool);
    const rows = (await isEmpty(pool, table)) ? 0 : await archiveRows(pool, opened, { name, table }, file);
    if (await dropCounted(pool, table, mark)) return rows;
  }
  throw new ObservatoryError(
    'ARCHIVE_REFUSED',
    `${name} still receives spans, or has some that are newer than a transaction still open on the server: it could not be dropped after ${MAX_ATTEMPTS} attempts to write it to ${file}. Archive it later`,
  );
}

async function isEmpty(pool: CopyPool, table: string): Promise<boolean> {
  const { rows } = await pool.query(`SELECT NOT EXISTS (SELECT FROM ${table}) AS is_empty`);
  return rows[0]?.is_empty === true;
}

/** Puts the rows of a table into a file of the archive, which holds it when this resolves. */
async function archiveRows(
  pool: CopyPool,
  { duck, store, work }: OpenArchive,
  { name, table }: StoredTable,
  file: string,
): Promise<number> {
  const path = join(work, randomBytes(6).toString('hex'));
  const csv = await writeCsv(pool, table, `${path}.csv`);
  const target = `${path}.parquet`;
  const others = file.startsWith('late/') ? (await store.list()).filter((name) => name !== file) : [];
  const { written, repeated } = await writeParquet(
    duck,
    csv,
    target,
    others.map((name) => ({ name, path: store.pathOf(name) })),
  );
  if (written + repeated !== csv.rows) {
    throw new ObservatoryError(
      'ARCHIVE_REFUSED',
      `Of ${csv.rows} rows of ${name}, ${written} are in its Parquet file. The rows are still in the database`,
    );
  }
  await rm(csv.path);
  const mayReplace = async () => {
    const missing = await countMissing(duck, store.pathOf(file), target);
    if (missing === 0) return;
    throw new ObservatoryError(
      'ARCHIVE_REFUSED',
      `${file} of ${store.name} has ${missing} spans that are not in ${name}: another database archives to the same place, or spans were deleted. Give each database a place of its own, or move that file away`,
    );
  };
  await store.put(target, file, mayReplace);
  await rm(target, { force: true });
  return written;
}
