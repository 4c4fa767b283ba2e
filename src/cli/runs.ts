import { DEFAULT_DATA_DIR, type Queryable, refreshRuns } from '../postgres/index.ts';
import {
  compareRuns,
  explainRun,
  findRun,
  formatProblem,
  listApprovals,
  listRuns,
  noteSearch,
  type RunRow,
  type RunSpan,
  readRunSpans,
  sentenceText,
} from '../runs/index.ts';
import {
  type Command,
  type CommandIo,
  DATABASE_FLAGS,
  durationFlag,
  EXIT_FAILED,
  EXIT_OK,
  findOpenDatabase,
  ifAllowed,
  numberFlag,
  print,
  readFlags,
  usageError,
} from './command-line/index.ts';
import {
  comparisonJson,
  formatComparison,
  formatRuns,
  formatSpans,
  runJson,
  spanJson,
} from './runs-format.ts';
import { printableLine } from './terminal/index.ts';

const HELP = `Usage: mcp-observatory runs <list|show|diff> [FILTER | ID | ID ID] [options]

Runs of the table mcp_traces. A run is a trace.

  list [FILTER]   the newest runs that match, for instance:
                    runs list 'tool:pay status:failed cost>0.01 -is:shadow'
  show ID         one run: a sentence that explains it, then its spans
  diff ID ID      two runs: figures, and the tool calls of both side by side

An id is a trace id or a beginning of it that only one run has.

Fields of a filter: tool server client service model user session conversation run status (ok, failed, recovered,
denied, withheld, held, running, incomplete) risk (none, low, medium, high) finding (contradicted, unsupported) cost
duration tokens calls is (shadow, unpriced, rooted, handshake) since until text. 'field:value', '>', '<', '>=', '<='
for numbers and risk; '-' before a term negates it, a comma separates alternatives, quotes hold spaces, '*' is
anything; a bare word is in the name.

Options:
  --since AGE           how far back to look, such as 90m, 12h, 30d or 8w (default 7d)
  --limit N             for list: maximum number (default 50, at most 500)
  --after CURSOR        for list: continue after an earlier page; its 'next'
  --database-url URL    Postgres, best without a password; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR        embedded database used without one (default ${DEFAULT_DATA_DIR})
  --json                print one JSON object instead of text`;

const OPTIONS = {
  since: { type: 'string', default: '7d' },
  limit: { type: 'string' },
  after: { type: 'string' },
  ...DATABASE_FLAGS,
  json: { type: 'boolean', default: false },
} as const;

type Values = ReturnType<typeof readFlags<typeof OPTIONS>>['values'];

interface Request {
  readonly db: Queryable;
  readonly words: readonly string[];
  readonly values: Values;
  readonly io: CommandIo;
}

const SUBCOMMANDS: Readonly<Record<string, (request: Request) => Promise<number>>> = { list, show, diff };

/** `mcp-observatory runs`: list, explain and compare runs. */
export const runsCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values, positionals } = readFlags(args, OPTIONS, true);
    const [name = '', ...words] = positionals;
    const run = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
    if (run === undefined) {
      throw usageError(`Expected one subcommand, ${Object.keys(SUBCOMMANDS).join(', ')}, got '${name}'`);
    }
    await using db = await findOpenDatabase(values, io);
    await ifAllowed(() => refreshRuns(db));
    return await run({ db, words, values, io });
  },
};

async function list({ db, words, values, io }: Request): Promise<number> {
  const found = await listRuns(db, {
    filter: words.join(' '),
    sinceMs: Date.now() - durationFlag('--since', values.since),
    limit: numberFlag('--limit', values.limit, { from: 1, to: 500, whole: true }),
    after: values.after,
  });
  const [problem] = found.problems;
  if (problem !== undefined) throw usageError(formatProblem(problem));
  const note = noteSearch(found);
  if (note !== undefined) io.stderr.writeLine(note);
  print(
    io,
    values.json ? { runs: found.runs.map(runJson), next: found.next } : formatRuns(found.runs, found.next),
  );
  return EXIT_OK;
}

async function show({ db, words, values, io }: Request): Promise<number> {
  const run = await only(db, words, 1, io);
  if (run === undefined) return EXIT_FAILED;
  const [{ row, spans }] = run as [Found];
  const explanation = sentenceText(explainRun(spans, await listApprovals(db, row), row.status));
  print(
    io,
    values.json
      ? { ...runJson(row), explanation, spans_left_out: row.spans - spans.length, items: spans.map(spanJson) }
      : `${printableLine(row.name)}  ${row.id}\n${explanation}\n\n${formatSpans(spans, io.stdout.paint)}`,
  );
  return EXIT_OK;
}

async function diff({ db, words, values, io }: Request): Promise<number> {
  const runs = await only(db, words, 2, io);
  if (runs === undefined) return EXIT_FAILED;
  const [a, b] = runs as [Found, Found];
  const comparison = compareRuns(a.spans, b.spans);
  print(
    io,
    values.json ? comparisonJson(a.row, b.row, comparison) : formatComparison(a.row, b.row, comparison),
  );
  return EXIT_OK;
}

interface Found {
  readonly row: RunRow;
  readonly spans: readonly RunSpan[];
}

/** The runs of `count` ids; undefined, with a line on stderr, if one is not known. */
async function only(
  db: Queryable,
  ids: readonly string[],
  count: number,
  io: CommandIo,
): Promise<Found[] | undefined> {
  if (ids.length !== count)
    throw usageError(`Expected ${count === 1 ? 'one id' : 'two ids'} of runs, got ${ids.length}`);
  const found: Found[] = [];
  for (const id of ids) {
    const row = await findRun(db, id);
    if (row === undefined) {
      io.stderr.writeLine(`No run ${id}. It may have been pruned, or belong to another database.`);
      return undefined;
    }
    found.push({ row, spans: await readRunSpans(db, row) });
  }
  return found;
}
