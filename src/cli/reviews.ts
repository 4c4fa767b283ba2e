import { readFileSync } from 'node:fs';
import { PostgresReviewQueue, type ReviewClaim, type ReviewStatus } from '../approvals/index.ts';
import { DEFAULT_DATA_DIR } from '../postgres/index.ts';
import {
  type Command,
  type CommandIo,
  DATABASE_FLAGS,
  durationFlag,
  EXIT_FAILED,
  EXIT_OK,
  findOpenDatabase,
  numberFlag,
  print,
  readFlags,
  readSubcommand,
  usageError,
} from './command-line/index.ts';
import { namedPerson } from './page-access.ts';
import { formatReview, formatReviews, reviewJson } from './review-format.ts';
import { printableLine } from './terminal/index.ts';

const HELP = `Usage: mcp-observatory reviews <list|show|claim|approve|reject|expire> [ID] [options]

Answers and calls waiting for human review: the table mcp_reviews.

  list          the newest reviews; --status, --tool and --limit choose
  show ID       one review with its content
  claim [ID]    take the oldest free review, or this one; exit code 1 when there is none
  approve ID    decide a review you have claimed; --response or --response-file gives the answer to use
  reject ID     decide a review you have claimed
  expire        mark the reviews whose time is over

Options:
  --as NAME             the worker who claims and decides (default: your user)
  --token N             for approve and reject: the token printed by your claim
  --lease AGE           for claim: duration of the claim, such as 15m (default 10m)
  --note TEXT           for approve and reject: the reason
  --response JSON       for approve: the answer, a JSON value
  --response-file FILE  for approve: the same from a file
  --status STATUS       for list: pending, claimed, approved, rejected or expired
  --tool NAME           for list and claim: only reviews of this tool
  --limit N             for list: maximum number (default 100, at most 1000)
  --database-url URL    Postgres, best without a password; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR        embedded database used without one (default ${DEFAULT_DATA_DIR})
  --json                print one JSON object instead of text`;

const OPTIONS = {
  as: { type: 'string' },
  token: { type: 'string' },
  lease: { type: 'string' },
  note: { type: 'string' },
  response: { type: 'string' },
  'response-file': { type: 'string' },
  status: { type: 'string' },
  tool: { type: 'string' },
  limit: { type: 'string' },
  ...DATABASE_FLAGS,
  json: { type: 'boolean', default: false },
} as const;

type Values = ReturnType<typeof readFlags<typeof OPTIONS>>['values'];

interface Request {
  readonly queue: PostgresReviewQueue;
  readonly id: string | undefined;
  readonly values: Values;
  readonly io: CommandIo;
}

const SUBCOMMANDS: Readonly<Record<string, (request: Request) => Promise<number>>> = {
  list,
  show,
  claim,
  approve: (request) => decide(request, 'approve'),
  reject: (request) => decide(request, 'reject'),
  expire,
};

/** `mcp-observatory reviews`: list and decide reviews. */
export const reviewsCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values, positionals } = readFlags(args, OPTIONS, true);
    const { run, id } = readSubcommand(SUBCOMMANDS, positionals);
    await using db = await findOpenDatabase(values, io);
    return await run({ queue: new PostgresReviewQueue({ connection: db }), id, values, io });
  },
};

async function list({ queue, values, io }: Request): Promise<number> {
  const reviews = await queue.list({
    status: values.status as ReviewStatus | undefined,
    toolName: values.tool,
    limit: numberFlag('--limit', values.limit, { whole: true }),
  });
  print(io, values.json ? { reviews: reviews.map(reviewJson) } : formatReviews(reviews));
  return EXIT_OK;
}

async function show({ queue, id, values, io }: Request): Promise<number> {
  const review = await queue.get(needed(id, 'show'));
  print(io, values.json ? reviewJson(review) : formatReview(review));
  return EXIT_OK;
}

async function claim(request: Request): Promise<number> {
  const { queue, id, values, io } = request;
  const leaseMs = durationFlag('--lease', values.lease);
  const claimed = await queue.claim({ worker: namedPerson(values.as), id, toolName: values.tool, leaseMs });
  if (claimed === undefined) {
    if (values.json) print(io, { review_id: null });
    else io.stderr.writeLine(id === undefined ? 'No review is free' : `The review ${id} is not free`);
    return EXIT_FAILED;
  }
  const { token, claimedBy } = claimed;
  const next = `mcp-observatory reviews approve ${claimed.id} --token ${token} --as ${JSON.stringify(claimedBy)}`;
  print(
    io,
    values.json
      ? reviewJson(claimed)
      : `${formatReview(claimed)}\n\nDecide it with: ${printableLine(next)} (or reject)`,
  );
  return EXIT_OK;
}

async function decide(request: Request, verb: 'approve' | 'reject'): Promise<number> {
  const { queue, id, values, io } = request;
  if (values.token === undefined) throw usageError(`${verb} needs --token, which 'reviews claim' prints`);
  const held: ReviewClaim = {
    id: needed(id, verb),
    token: numberFlag('--token', values.token, { whole: true }),
    claimedBy: namedPerson(values.as),
  };
  const { note } = values;
  const decided =
    verb === 'reject'
      ? await queue.reject(held, { note })
      : await queue.approve(held, { note, response: toResponse(values) });
  print(
    io,
    values.json
      ? reviewJson(decided)
      : printableLine(`${decided.id} ${decided.status} by ${decided.decidedBy}`),
  );
  return EXIT_OK;
}

async function expire({ queue, values, io }: Request): Promise<number> {
  const expired = await queue.expire();
  print(io, values.json ? { expired } : `${expired} reviews expired`);
  return EXIT_OK;
}

function toResponse(values: Values): unknown {
  const file = values['response-file'];
  if (values.response !== undefined && file !== undefined) {
    throw usageError("Give either '--response' or '--response-file'");
  }
  const text = file === undefined ? values.response : readText(file);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw usageError('The response is not JSON; a text needs its quotes, as in --response \'"Yes"\'', cause);
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unreadable';
    throw usageError(`The file '${path}' cannot be read (${code})`, cause);
  }
}

function needed(id: string | undefined, verb: string): string {
  if (id !== undefined) return id;
  throw usageError(`${verb} needs the id of a review`);
}
