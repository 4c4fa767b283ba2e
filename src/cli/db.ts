import { parseArgs } from 'node:util';
import { ObservatoryError } from '../base/index.ts';
import { type SpoolStatus, spoolStatus } from '../durable/index.ts';
import { PostgresReviewQueue } from '../execution/index.ts';
import {
  type Database,
  type DatabaseStatus,
  DEFAULT_DATA_DIR,
  databaseStatus,
  migrate,
  openDatabase,
  prune,
  refreshRollups,
} from '../postgres/index.ts';
import {
  type Command,
  type CommandIo,
  databaseUrlFrom,
  EXIT_FAILED,
  EXIT_OK,
  parseDuration,
  writeJson,
} from './command-line/index.ts';
import { formatStatus, spoolJson, statusJson } from './db-status.ts';

const HELP = `Usage: mcp-observatory db <migrate|status|prune|rollup> [options]

  migrate   create or update the tables; any number of processes may do so at once
  status    schema version, rows, time range, lag, size, partitions, dead rows, busiest services and models;
            exit code 1 when the schema is missing or not of this version
  prune     drop the partitions whose spans are all older than --older-than, make those of the next days, and
            delete the reviews that were decided or expired before then, while pending and claimed ones stay;
            run it once a day; any number of processes may do so at once
  rollup    count the spans that came since the last time into mcp_traces_hourly, which prune leaves alone;
            run it as often as the dashboard should be fresh; any number of processes may do so at once

Options:
  --database-url URL   Postgres connection string; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR       embedded database used without one (default ${DEFAULT_DATA_DIR})
  --older-than AGE     for prune: 90m, 12h, 30d or 8w
  --dry-run            for prune: only show which partitions and how many reviews would be deleted
  --spool DIR          for status: include the spool of a DurableSpanProcessor
  --json               print one JSON object instead of text`;

interface DbOptions {
  readonly url: string | undefined;
  readonly dataDir: string | undefined;
  readonly json: boolean;
}

/** `mcp-observatory db`: creates, updates and inspects the Postgres schema. */
export const dbCommand: Command = {
  name: 'db',
  summary: 'create, update and inspect the Postgres schema',
  help: HELP,
  run: async (args, io) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'database-url': { type: 'string' },
        'data-dir': { type: 'string' },
        'older-than': { type: 'string' },
        spool: { type: 'string' },
        'dry-run': { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    });
    const options = {
      url: values['database-url'] ?? databaseUrlFrom(io.env),
      dataDir: values['data-dir'],
      json: values.json,
    };
    const [subcommand, ...rest] = positionals;
    if (rest.length === 0 && subcommand === 'migrate') return runMigrate(options, io);
    if (rest.length === 0 && subcommand === 'status') return runStatus(options, values.spool, io);
    if (rest.length === 0 && subcommand === 'prune') {
      return runPrune(options, values['older-than'], values['dry-run'], io);
    }
    if (rest.length === 0 && subcommand === 'rollup') return runRollup(options, io);
    throw new ObservatoryError(
      'INVALID_OPTION',
      `Expected one subcommand, migrate, status, prune or rollup, got '${positionals.join(' ')}'`,
    );
  },
};

async function runMigrate(options: DbOptions, io: CommandIo): Promise<number> {
  await using db = await openDatabase({ url: options.url, dataDir: options.dataDir });
  const result = await migrate(db);
  if (options.json) {
    writeJson(io, {
      database: db.name,
      kind: db.kind,
      applied: result.applied,
      schema_version: result.version,
    });
  } else {
    const done = result.applied.length === 0 ? 'up to date' : `applied ${result.applied.join(', ')}`;
    io.stdout.write(`${db.name}: ${done}; schema version ${result.version}\n`);
  }
  return EXIT_OK;
}

async function runPrune(
  options: DbOptions,
  olderThan: string | undefined,
  isDryRun: boolean,
  io: CommandIo,
): Promise<number> {
  if (olderThan === undefined) {
    throw new ObservatoryError('INVALID_OPTION', 'prune needs --older-than, for instance --older-than 30d');
  }
  const before = new Date(Date.now() - parseDuration('--older-than', olderThan));
  await using db = await openDatabase({ url: options.url, dataDir: options.dataDir, create: false });
  const { dropped, deletedRows } = await prune(db, before, isDryRun);
  const reviews = await new PostgresReviewQueue({ connection: db }).prune(before, isDryRun);
  if (options.json) {
    writeJson(io, {
      database: db.name,
      before,
      dry_run: isDryRun,
      dropped,
      deleted_rows: deletedRows,
      deleted_reviews: reviews,
    });
  } else {
    const [drop, deleted] = isDryRun ? ['would drop', 'to be deleted'] : ['dropped', 'deleted'];
    io.stdout.write(
      `${db.name}: ${drop} ${dropped.length} partitions older than ${before.toISOString()}` +
        `${dropped.length === 0 ? '' : ` (${dropped.join(', ')})`}; ${deletedRows} rows deleted; ` +
        `${reviews} ended reviews ${deleted}\n`,
    );
  }
  return EXIT_OK;
}

async function runRollup(options: DbOptions, io: CommandIo): Promise<number> {
  await using db = await openDatabase({ url: options.url, dataDir: options.dataDir, create: false });
  const counted = await refreshRollups(db);
  if (options.json) {
    writeJson(io, { database: db.name, counted_spans: counted });
  } else {
    const what = counted === null ? 'another process is counting' : `${counted} spans counted`;
    io.stdout.write(`${db.name}: ${what}\n`);
  }
  return EXIT_OK;
}

async function runStatus(options: DbOptions, directory: string | undefined, io: CommandIo): Promise<number> {
  const spool = directory === undefined ? undefined : await spoolStatus(directory);
  await using db = await openDatabase({ url: options.url, dataDir: options.dataDir, create: false });
  const status = await databaseStatus(db);
  report(db, status, spool, options, io);
  return status.state === 'current' ? EXIT_OK : EXIT_FAILED;
}

function report(
  db: Database,
  status: DatabaseStatus,
  spool: SpoolStatus | undefined,
  options: DbOptions,
  io: CommandIo,
): void {
  if (options.json) {
    const ofSpool = spool === undefined ? {} : { spool: spoolJson(spool) };
    writeJson(io, { database: db.name, kind: db.kind, ...statusJson(status), ...ofSpool });
  } else {
    io.stdout.write(`${formatStatus(db.name, status, spool)}\n`);
  }
}
