import { APPROVAL_SCOPES, type ApprovalScope, decideNow, PostgresReviewQueue } from '../approvals/index.ts';
import { canonicalUuid, DEFAULT_DATA_DIR, type Queryable } from '../postgres/index.ts';
import { listWaiting, readWaiting, type WaitingDetail, type WaitingRow } from '../runs/index.ts';
import {
  type Command,
  type CommandIo,
  DATABASE_FLAGS,
  EXIT_OK,
  findOpenDatabase,
  print,
  readFlags,
  readSubcommand,
  usageError,
} from './command-line/index.ts';
import { namedPerson } from './page-access.ts';
import { approvalJson, formatApproval, formatApprovals } from './review-format.ts';
import { printableLine } from './terminal/index.ts';

const HELP = `Usage: mcp-observatory approvals <list|show|approve|reject|revoke> [ID] [options]

Calls that a policy holds for a person.

  list          calls that wait, approvals good for more than one call, and the last decisions
  show ID       one call with its whole arguments
  approve ID    let the call through; --for says how often
  reject ID     refuse it
  revoke ID     end an approval that can still be used

Options:
  --for SCOPE           for approve: once (default), session (the same call as often as it is made in the session that
                        asks), or definition (the same call until the definition of the tool changes); the policy says
                        which may be chosen. The arguments are bound in each.
  --as NAME             who decides (default: your user)
  --note TEXT           the reason
  --database-url URL    Postgres, best without a password; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR        embedded database used without one (default ${DEFAULT_DATA_DIR})
  --json                print one JSON object instead of text`;

const OPTIONS = {
  for: { type: 'string' },
  as: { type: 'string' },
  note: { type: 'string' },
  ...DATABASE_FLAGS,
  json: { type: 'boolean', default: false },
} as const;

interface Request {
  readonly db: Queryable;
  readonly id: string | undefined;
  readonly values: ReturnType<typeof readFlags<typeof OPTIONS>>['values'];
  readonly io: CommandIo;
}

const SUBCOMMANDS: Readonly<Record<string, (request: Request) => Promise<number>>> = {
  list,
  show,
  approve: (request) => decide(request, 'approve'),
  reject: (request) => decide(request, 'reject'),
  revoke,
};

/** `mcp-observatory approvals`: list and decide the calls that a policy holds. */
export const approvalsCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values, positionals } = readFlags(args, OPTIONS, true);
    const { run, id } = readSubcommand(SUBCOMMANDS, positionals);
    await using db = await findOpenDatabase(values, io);
    return await run({ db, id, values, io });
  },
};

const isApproval = ({ kind }: WaitingRow) => kind === 'approval';

async function list({ db, values, io }: Request): Promise<number> {
  const { open, standing, decided } = await listWaiting(db);
  const lists = {
    open: open.filter(isApproval),
    standing: standing.filter(isApproval),
    decided: decided.filter(isApproval),
  };
  print(io, values.json ? approvalJson(lists) : formatApprovals(lists));
  return EXIT_OK;
}

async function show(request: Request): Promise<number> {
  const { values, io } = request;
  const found = await read(request, 'show');
  print(io, values.json ? approvalJson(found) : formatApproval(found));
  return EXIT_OK;
}

async function decide(request: Request, how: 'approve' | 'reject'): Promise<number> {
  const { db, values } = request;
  const { id } = await read(request, how);
  const scope = how === 'approve' ? findScope(values.for) : undefined;
  if (how === 'reject' && values.for !== undefined) throw usageError("'--for' is of approve");
  const queue = new PostgresReviewQueue({ connection: db });
  await decideNow(queue, id, { how, by: namedPerson(values.as), note: values.note, scope });
  return await tell(request, how);
}

async function revoke(request: Request): Promise<number> {
  const { db, values } = request;
  const { id } = await read(request, 'revoke');
  const queue = new PostgresReviewQueue({ connection: db });
  await queue.revoke(id, { by: namedPerson(values.as), note: values.note });
  return await tell(request, 'revoke');
}

/** Its state now. */
async function tell(request: Request, verb: string): Promise<number> {
  const { values, io } = request;
  const found = await read(request, verb);
  const { id, status, decidedBy, scope, endedBy } = found;
  const how =
    endedBy === null
      ? `${status} by ${decidedBy}${scope === null ? '' : ` for ${scope}`}`
      : `revoked by ${endedBy}`;
  print(io, values.json ? approvalJson(found) : printableLine(`${id} ${how}`));
  return EXIT_OK;
}

async function read({ db, id }: Request, verb: string): Promise<WaitingDetail> {
  if (id === undefined) throw usageError(`${verb} needs the id of an approval`);
  const uuid = canonicalUuid(id);
  if (uuid === undefined)
    throw usageError(`'${id}' is not the id of an approval, which 'approvals list' prints`);
  const found = await readWaiting(db, uuid);
  if (found === undefined || !isApproval(found)) throw usageError(`There is no approval ${id}`);
  return found;
}

function findScope(text: string | undefined): ApprovalScope | undefined {
  const scope = APPROVAL_SCOPES.find((one) => one === (text ?? 'once'));
  if (scope !== undefined) return scope;
  throw usageError(`'--for' is one of ${APPROVAL_SCOPES.join(', ')}, got '${text}'`);
}
