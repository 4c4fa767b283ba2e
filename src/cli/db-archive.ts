import {
  type CommandIo,
  databaseUrlFrom,
  EXIT_OK,
  parseDuration,
  print,
  usageError,
} from './command-line/index.ts';
import { formatTable, printableLine } from './terminal/index.ts';

/** Flags of `db archive` and `db query`. */
export const ARCHIVE_FLAGS = {
  to: { type: 'string' },
  archive: { type: 'string' },
  since: { type: 'string' },
} as const;

interface Values {
  readonly 'database-url'?: string | undefined;
  readonly 'older-than'?: string | undefined;
  readonly 'dry-run'?: boolean | undefined;
  readonly to?: string | undefined;
  readonly archive?: string | undefined;
  readonly since?: string | undefined;
  readonly json?: boolean | undefined;
}

/** `db archive`: moves closed days to Parquet files. */
export async function runArchive(values: Values, io: CommandIo): Promise<number> {
  const { to, 'older-than': olderThan, 'dry-run': isDryRun = false, json = false } = values;
  if (to === undefined) throw usageError('archive needs --to DIR, the folder of the archive');
  if (olderThan === undefined) throw usageError('archive needs --older-than, for instance --older-than 30d');
  const before = new Date(Date.now() - parseDuration('--older-than', olderThan));
  const url = values['database-url'] ?? databaseUrlFrom(io.env);
  if (url === undefined) {
    throw usageError(
      'archive needs a Postgres server: --database-url; an embedded database is pruned (db prune)',
    );
  }
  const { archive } = await import('../archive/index.ts');
  const { openPool } = await import('../postgres/index.ts');
  const pool = await openPool(url);
  try {
    const tables = await archive(pool, to, before, {
      isDryRun,
      onArchived: ({ table, file, rows }) => {
        if (!json) io.stdout.writeLine(printableLine(`${table}: ${rows} spans to ${file}`));
      },
    });
    if (json) print(io, { database: pool.name, before, dry_run: isDryRun, archived: tables });
    else if (isDryRun) {
      const names = tables.map(({ table }) => table).join(', ');
      io.stdout.writeLine(
        `${pool.name}: would archive ${tables.length} days${names === '' ? '' : ` (${names})`}`,
      );
    } else if (tables.length === 0) {
      io.stdout.writeLine(`${pool.name}: no day ended before ${before.toISOString()}; nothing to archive`);
    }
    return EXIT_OK;
  } finally {
    await pool.end();
  }
}

/** `db query`: answers SQL from an archive and the database. */
export async function runQuery(values: Values, io: CommandIo, sql: string): Promise<number> {
  const { archive: folder, since } = values;
  if (folder === undefined)
    throw usageError('query needs --archive DIR, the folder that db archive wrote to');
  const url = values['database-url'] ?? databaseUrlFrom(io.env);
  const { queryArchive } = await import('../archive/index.ts');
  const { openPool } = await import('../postgres/index.ts');
  const pool = url === undefined ? undefined : await openPool(url);
  try {
    const { columns, rows, isCut } = await queryArchive({
      folder,
      sql,
      pool,
      since: since === undefined ? undefined : new Date(Date.now() - parseDuration('--since', since)),
    });
    if (values.json) {
      for (const row of rows) print(io, Object.fromEntries(columns.map((name, i) => [name, row[i] ?? null])));
    } else {
      const cells = columns.map((title, i) => ({
        title,
        value: (row: readonly unknown[]) => textOf(row[i]),
      }));
      io.stdout.writeLine(formatTable(cells, rows));
    }
    if (isCut) io.stderr.writeLine(`only the first ${rows.length} rows are shown; use LIMIT, or aggregate`);
    return EXIT_OK;
  } finally {
    await pool?.end();
  }
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
