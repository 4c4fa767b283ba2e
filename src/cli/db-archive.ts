import type { DayRange } from '../archive/index.ts';
import {
  ageFlag,
  type CommandIo,
  EXIT_OK,
  type FlagValues,
  findDatabaseUrl,
  print,
  usageError,
} from './command-line/index.ts';
import { formatTable, printableLine } from './terminal/index.ts';

/** Flags of `db archive` and `db query`. */
export const ARCHIVE_FLAGS = {
  to: { type: 'string' },
  archive: { type: 'string' },
  since: { type: 'string' },
  days: { type: 'string' },
} as const;

type Values = FlagValues<
  'database-url' | 'data-dir' | 'older-than' | keyof typeof ARCHIVE_FLAGS,
  'dry-run' | 'json'
>;

/** `db archive`: moves closed days to Parquet files. */
export async function runArchive(values: Values, io: CommandIo): Promise<number> {
  const { to, 'older-than': olderThan, 'dry-run': isDryRun = false, json = false } = values;
  if (to === undefined)
    throw usageError('archive needs --to, the folder of the archive or s3://bucket/prefix');
  if (olderThan === undefined) throw usageError('archive needs --older-than, for instance --older-than 30d');
  const before = ageFlag('--older-than', olderThan);
  const url = await findDatabaseUrl(values, io);
  if (url === undefined) {
    throw usageError(
      'archive needs a Postgres server: --database-url; an embedded database is pruned (db prune)',
    );
  }
  const { archive } = await import('../archive/index.ts');
  const { openPool } = await import('../postgres/index.ts');
  const pool = await openPool(url);
  let lateLeft = 0;
  try {
    const tables = await archive(pool, to, before, {
      isDryRun,
      onArchived: ({ table, file, rows }) => {
        if (!json) io.stdout.writeLine(printableLine(`${table}: ${rows} spans to ${file}`));
      },
      onLateLeft: (spans) => {
        lateLeft = spans;
      },
    });
    if (json)
      print(io, { database: pool.name, before, dry_run: isDryRun, archived: tables, late_left: lateLeft });
    else if (isDryRun) {
      const names = tables.map(({ table }) => table).join(', ');
      io.stdout.writeLine(
        `${pool.name}: would archive ${tables.length} days${names === '' ? '' : ` (${names})`}`,
      );
    } else if (tables.length === 0) {
      io.stdout.writeLine(`${pool.name}: no day ended before ${before.toISOString()}; nothing to archive`);
    }
    if (lateLeft > 0 && !json) {
      io.stdout.writeLine(
        `${pool.name}: ${lateLeft} late spans stay until transactions that are open now have ended; archive them later`,
      );
    }
    return EXIT_OK;
  } finally {
    await pool.end();
  }
}

/** `db query`: answers SQL from an archive and the database. */
export async function runQuery(values: Values, io: CommandIo, sql: string): Promise<number> {
  const { archive, since, days } = values;
  if (archive === undefined)
    throw usageError('query needs --archive, the folder or s3://bucket/prefix that db archive wrote to');
  const range = days === undefined ? undefined : parseDays(days);
  const url = await findDatabaseUrl(values, io);
  const { queryArchive } = await import('../archive/index.ts');
  const { openPool } = await import('../postgres/index.ts');
  const pool = url === undefined ? undefined : await openPool(url);
  try {
    const { columns, rows, isCut } = await queryArchive({
      archive,
      days: range,
      sql,
      pool,
      since: since === undefined ? undefined : ageFlag('--since', since),
    });
    if (values.json) {
      for (const row of rows) print(io, Object.fromEntries(columns.map((name, i) => [name, row[i] ?? null])));
    } else {
      const cells = columns.map((title, i) => ({
        title,
        value: (row: readonly unknown[]) => readText(row[i]),
      }));
      print(io, formatTable(cells, rows));
    }
    if (isCut) io.stderr.writeLine(`only the first ${rows.length} rows are shown; use LIMIT, or aggregate`);
    return EXIT_OK;
  } finally {
    await pool?.end();
  }
}

/** A day, or the first and the last one: `2026-11-22`, `2026-11-01..2026-11-07`. */
function parseDays(text: string): DayRange {
  const [from = '', to = from, ...rest] = text.split('..');
  if (!isDay(from) || !isDay(to) || from > to || rest.length > 0) {
    throw usageError(
      `Expected --days to be a day or two, for instance 2026-11-01..2026-11-07, got '${text}'`,
    );
  }
  return { from, to };
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

function readText(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
