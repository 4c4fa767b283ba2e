import { PostgresReviewQueue } from '../approvals/index.ts';
import { snakeKeys } from '../base/index.ts';
import { spoolStatus } from '../durable/index.ts';
import {
  DEFAULT_DATA_DIR,
  databaseStatus,
  firstNames,
  migrate,
  prune,
  refreshRollups,
  refuseOtherTables,
} from '../postgres/index.ts';
import {
  ageFlag,
  type Command,
  type CommandIo,
  DATABASE_FLAGS,
  durationFlag,
  EXIT_FAILED,
  EXIT_OK,
  findOpenDatabase,
  print,
  readFlags,
  usageError,
} from './command-line/index.ts';
import { ARCHIVE_FLAGS, runArchive, runQuery } from './db-archive.ts';
import { runCheck, runReprice } from './db-check.ts';
import { formatStatus, statusJson } from './db-status.ts';
import { printableLine } from './terminal/index.ts';

const HELP = `Usage: mcp-observatory db <migrate|status|check|reprice|prune|rollup|archive> [options]
       mcp-observatory db query SQL --archive DIR|s3://BUCKET/PREFIX [options]

  migrate   create or update the tables, of Postgres or with --clickhouse-url of ClickHouse; any number of processes
            may do so at once
  status    schema version, rows, time range, lag, size, partitions, dead rows, busiest services and models;
            exit code 1 when the schema is missing or not of this version
  check     find what cannot be right: calls counted twice, counts that disagree, calls without usage or price, runs
            without a root; reads only; exit code 1 with findings
  reprice   compute the costs again that were computed here, after an update of the package or with --prices; costs
            that were reported stay; roll-ups and runs follow
  prune     drop the partitions whose spans are all older than --older-than, make those of the next days, and
            delete the reviews that were decided or expired before then, while pending and claimed ones stay,
            and the sessions, runs and context tax from before then from mcp_sessions, mcp_runs, mcp_tax_hourly;
            run it once a day; any number of processes may do so at once
  rollup    count the spans that came since the last time into mcp_traces_hourly, mcp_tools_hourly,
            mcp_models_hourly and mcp_definitions_hourly, which prune leaves alone, and mcp_sessions, mcp_runs,
            mcp_tax_hourly; as often as the dashboard should be fresh; any number of processes may do so at once
  archive   move the days that ended before --older-than into Parquet files under --to, instead of dropping them;
            each span is in the database or in a file, whatever happens meanwhile; once a day
  query     answer SQL over mcp_traces from the files of --archive and, with a Postgres server, the spans that are
            there still; DuckDB's dialect

Options:
  --database-url URL   Postgres, best without a password; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR       embedded database used without one (default ${DEFAULT_DATA_DIR})
  --clickhouse-url URL  for migrate: http://user:password@host:8123/database
  --keep AGE           for migrate of ClickHouse: delete spans this long after they started, e.g. 90d or 12w
  --older-than AGE     for prune and archive: 90m, 12h, 30d or 8w
  --dry-run            for prune, archive and reprice: only show what would be deleted, moved or changed
  --to DIR             for archive: folder of the files, on a disk with room for the largest day, uncompressed; or
                       s3://BUCKET/PREFIX, with ?endpoint=URL, region= and path_style=true if need be; credentials come
                       from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or as DuckDB's extension aws finds them
  --archive DIR        for query: what archive wrote to
  --prices FILE        for reprice: prices of your own, as for score
  --since AGE          only spans that started in this time; for check and reprice 7d by default
  --days FROM..TO      for query: only spans that started on these days (UTC), e.g. 2026-11-01..2026-11-07
  --spool DIR          for status: include the spool of a DurableSpanProcessor
  --json               print one JSON object instead of text`;

const DAY_MS = 86_400_000;

const OPTIONS = {
  ...DATABASE_FLAGS,
  'clickhouse-url': { type: 'string' },
  keep: { type: 'string' },
  'older-than': { type: 'string' },
  ...ARCHIVE_FLAGS,
  spool: { type: 'string' },
  prices: { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const;

type Values = ReturnType<typeof readFlags<typeof OPTIONS>>['values'];

const SUBCOMMANDS: Readonly<Record<string, (values: Values, io: CommandIo) => Promise<number>>> = {
  migrate: runMigrate,
  status: runStatus,
  check: runCheck,
  reprice: runReprice,
  prune: runPrune,
  rollup: runRollup,
  archive: runArchive,
};

/** `mcp-observatory db`: creates, updates and inspects the Postgres schema. */
export const dbCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values, positionals } = readFlags(args, OPTIONS, true);
    const [name = '', ...rest] = positionals;
    const run = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
    if (run !== undefined && rest.length === 0) return run(values, io);
    if (name === 'query' && rest.length === 1) return runQuery(values, io, rest[0] as string);
    throw usageError(
      `Expected one subcommand, migrate, status, check, reprice, prune, rollup, archive or query SQL, got '${positionals.join(' ')}'`,
    );
  },
};

async function runMigrate(values: Values, io: CommandIo): Promise<number> {
  if (values['clickhouse-url'] !== undefined) return migrateClickHouse(values['clickhouse-url'], values, io);
  if (values.keep !== undefined)
    throw usageError('--keep is for ClickHouse; with Postgres, use db prune or db archive');
  await using db = await findOpenDatabase(values, io, { create: true });
  const { applied, remade, version } = await migrate(db);
  const changes = [
    ...(applied.length === 0 ? [] : [`applied ${applied.join(', ')}`]),
    ...(remade.length === 0
      ? []
      : [`made again, empty and with no grants, what was missing: ${firstNames(remade)}`]),
  ];
  const done = changes.length === 0 ? 'up to date' : changes.join('; ');
  print(
    io,
    values.json
      ? { database: db.name, kind: db.kind, applied, remade, schema_version: version }
      : printableLine(`${db.name}: ${done}; schema version ${version}`),
  );
  return EXIT_OK;
}

async function migrateClickHouse(url: string, { keep, json }: Values, io: CommandIo): Promise<number> {
  const days = keep === undefined ? undefined : durationFlag('--keep', keep) / DAY_MS;
  if (days !== undefined && !Number.isInteger(days)) {
    throw usageError(`Expected --keep to be whole days, for instance 90d, got '${keep}'`);
  }
  const { openClickHouseStore } = await import('../clickhouse/index.ts');
  await using store = await openClickHouseStore(url);
  await store.migrate(days);
  const kept = days === undefined ? '' : `; spans are kept ${days} days`;
  print(
    io,
    json
      ? { database: store.name, kind: 'clickhouse', keep_days: days ?? null }
      : printableLine(`${store.name}: the tables are as this version needs them${kept}`),
  );
  return EXIT_OK;
}

async function runPrune(values: Values, io: CommandIo): Promise<number> {
  const { 'older-than': olderThan, 'dry-run': isDryRun } = values;
  if (olderThan === undefined) throw usageError('prune needs --older-than, for instance --older-than 30d');
  const before = ageFlag('--older-than', olderThan);
  await using db = await findOpenDatabase(values, io);
  const { dropped, kept, deletedRows } = await prune(db, before, isDryRun);
  const deletedReviews = await new PostgresReviewQueue({ connection: db }).prune(before, isDryRun);
  if (values.json) {
    print(
      io,
      snakeKeys({ database: db.name, before, dryRun: isDryRun, dropped, kept, deletedRows, deletedReviews }),
    );
  } else {
    const [drop, deleted] = isDryRun ? ['would drop', 'to be deleted'] : ['dropped', 'deleted'];
    io.stdout.writeLine(
      `${db.name}: ${drop} ${dropped.length} partitions older than ${before.toISOString()}` +
        `${dropped.length === 0 ? '' : ` (${dropped.join(', ')})`}; ${deletedRows} rows deleted; ` +
        `${deletedReviews} ended reviews ${deleted}` +
        `${kept.length === 0 ? '' : `; old spans stay in ${kept.join(', ')} until an open transaction of the server ends`}`,
    );
  }
  return EXIT_OK;
}

async function runRollup(values: Values, io: CommandIo): Promise<number> {
  await using db = await findOpenDatabase(values, io);
  await refuseOtherTables(db);
  const counted = await refreshRollups(db);
  const what = counted === null ? 'another process is counting' : `${counted} spans counted`;
  print(
    io,
    values.json ? { database: db.name, counted_spans: counted } : printableLine(`${db.name}: ${what}`),
  );
  return EXIT_OK;
}

async function runStatus(values: Values, io: CommandIo): Promise<number> {
  const spool = values.spool === undefined ? undefined : await spoolStatus(values.spool);
  await using db = await findOpenDatabase(values, io);
  const status = await databaseStatus(db);
  const { name: database, kind } = db;
  const ofSpool = spool === undefined ? {} : { spool: snakeKeys(spool) };
  print(
    io,
    values.json
      ? { database, kind, ...statusJson(status), ...ofSpool }
      : formatStatus(database, status, spool),
  );
  return status.state === 'current' ? EXIT_OK : EXIT_FAILED;
}
