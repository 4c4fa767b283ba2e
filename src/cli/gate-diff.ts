/** `mcp-observatory gate diff` and `gate init`: what a change of a policy means, and policies to start from. */
import {
  comparePolicies,
  decideRecorded,
  joinChanges,
  type PolicyDocument,
  type RecordedCall,
  readPolicy,
  readPolicyFile,
  type ToolsByServer,
} from '../policy/index.ts';
import { type CommandIo, EXIT_FAILED, EXIT_OK, print, readFlags, usageError } from './command-line/index.ts';
import { writeNew } from './gate-learn.ts';
import { listReadTools, TOOLS_FLAGS } from './policy-options/index.ts';
import { RECORDING_FLAGS, readRecordings } from './recordings.ts';
import { printableLine } from './terminal/index.ts';

/** Tells narrowing from widening. Exit code 1 unless the second policy lets through no more than the first. */
export async function runGateDiff(args: readonly string[], io: CommandIo): Promise<number> {
  const flags = { ...RECORDING_FLAGS, ...TOOLS_FLAGS, json: { type: 'boolean' } } as const;
  const { values, positionals } = readFlags(args, flags, true);
  const [first, second, ...sources] = positionals;
  if (first === undefined || second === undefined)
    throw usageError("'gate diff' needs two policies, A and B");
  const [before, after] = [first, second].map((path) => readPolicyFile(path).document) as [
    PolicyDocument,
    PolicyDocument,
  ];
  const changes = comparePolicies(before, after);
  const change = joinChanges(changes.map((one) => one.change));
  const hasCalls = sources.length > 0 || values.since !== undefined;
  const calls = hasCalls ? (await readRecordings(sources, values, io)).calls : [];
  const tools = await listReadTools(values, io.env);
  const counts = hasCalls ? await countChanges(calls, before, after, tools) : undefined;
  if (values.json === true) print(io, { change, changes, calls: counts ?? null });
  else {
    for (const { what, change: kind, why } of changes)
      io.stdout.writeLine(printableLine(`${kind}: ${what} ${why}`));
    const byRules = change === 'unknown' ? 'unknown by the rules alone' : change;
    const byCalls =
      counts === undefined
        ? ''
        : `; of ${counts.calls} recorded calls B lets through ${counts.more} more and ${counts.fewer} fewer`;
    io.stdout.writeLine(`${byRules}${byCalls}`);
  }
  return change === 'same' || change === 'narrower' ? EXIT_OK : EXIT_FAILED;
}

async function countChanges(
  calls: readonly RecordedCall[],
  before: PolicyDocument,
  after: PolicyDocument,
  tools: ToolsByServer | undefined,
): Promise<{ calls: number; more: number; fewer: number }> {
  const [was, now] = await Promise.all([before, after].map((policy) => decideRecorded(calls, policy, tools)));
  const isLet = (decided: typeof was, at: number): boolean => decided?.[at]?.decision.decision === 'allow';
  const more = calls.filter((_, at) => isLet(now, at) && !isLet(was, at)).length;
  const fewer = calls.filter((_, at) => isLet(was, at) && !isLet(now, at)).length;
  return { calls: calls.length, more, fewer };
}

/** Writes a policy to start from: one that only watches, or one that asks about everything but reading. */
export async function runGateInit(args: readonly string[], io: CommandIo): Promise<number> {
  const flags = {
    ...TOOLS_FLAGS,
    observe: { type: 'boolean' },
    strict: { type: 'boolean' },
    out: { type: 'string', default: 'policy.json' },
  } as const;
  const { values } = readFlags(args, flags);
  if ((values.observe === true) === (values.strict === true)) throw usageError('Give --observe or --strict');
  const tools = await listReadTools(values, io.env);
  const policy = values.observe === true ? toObserving(tools) : toStrict(tools);
  readPolicy(policy);
  writeNew(values.out, `${JSON.stringify(policy, null, 2)}\n`);
  const says =
    policy.mode === 'shadow'
      ? 'stops nothing and records what it would stop'
      : 'asks about what no rule allows';
  io.stdout.writeLine(printableLine(`${values.out} ${says}`));
  return EXIT_OK;
}

/** The servers of the hook of coding agents, where no others are named. */
const AGENT_SERVERS = ['shell', 'files', 'web', 'agent'];

function toObserving(tools: ToolsByServer | undefined): PolicyDocument {
  const servers = tools === undefined ? AGENT_SERVERS : Object.keys(tools);
  const rules = servers.map((server) => {
    const annotations = { readOnlyHint: true };
    return { id: `${server} reads`, effect: 'allow' as const, server, tool: '*', annotations };
  });
  return { version: 1, mode: 'shadow', rules, servers: asking(servers) };
}

function asking(servers: readonly string[]): PolicyDocument['servers'] {
  return Object.fromEntries(servers.map((server) => [server, { default: 'require_approval' }]));
}

/** Where secrets are kept: `.env`, `.env.local`, `.npmrc`, `id_rsa`, `server.pem`. */
const SECRET_FILES =
  '/[.](env|npmrc|pypirc|netrc|pgpass|git-credentials|ssh|aws|gnupg|kube|docker)([./]|$)|/id_[a-z0-9]+$|[.](pem|key|p12|pfx)$';

function toStrict(tools: ToolsByServer | undefined): PolicyDocument {
  const servers = tools === undefined ? AGENT_SERVERS : Object.keys(tools);
  const rules: PolicyDocument['rules'] =
    tools === undefined
      ? [
          {
            ...{ id: 'read here', effect: 'allow', server: 'files', tool: 'read' },
            args: { path: { localPathWithin: [process.cwd()] } },
            required: ['path'],
          },
          {
            ...{ id: 'secrets', effect: 'require_approval', server: 'files', tool: 'read' },
            args: { path: { pattern: SECRET_FILES } },
          },
        ]
      : Object.entries(tools).flatMap(([server, listing]) => {
          const reading = listing.tools
            .filter(({ annotations }) => isReading(annotations))
            .map(({ name }) => name);
          if (reading.length === 0) return [];
          // By name: a tool that is listed later is asked about.
          const annotations = { readOnlyHint: true };
          return [{ id: `${server} reads`, effect: 'allow', server, tool: reading, annotations }];
        });
  return {
    version: 1,
    untyped: 'allow',
    redact: 'always',
    unknown_arguments: 'reject_always',
    rules,
    servers: asking(servers),
    approval: { scopes: ['once'] },
  };
}

function isReading(annotations: unknown): boolean {
  const { readOnlyHint, destructiveHint } = (annotations ?? {}) as Record<string, unknown>;
  return readOnlyHint === true && destructiveHint !== true;
}
