/** `mcp-observatory gate drill`: what goes wrong in practice, tried against a policy. Nothing is called. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  decideRecorded,
  type GateCall,
  isBlocked,
  type PolicyDocument,
  PolicyGate,
  type RecordedCall,
  readPolicyFile,
  type ToolDefinition,
} from '../policy/index.ts';
import { type CommandIo, EXIT_FAILED, EXIT_OK, print, readFlags, usageError } from './command-line/index.ts';
import { listReadTools, TOOLS_FLAGS } from './policy-options/index.ts';
import { RECORDING_FLAGS, readRecordings } from './recordings.ts';
import { printableLine } from './terminal/index.ts';

/** A call that the policy takes, and the tool it is of. */
interface Case {
  readonly call: GateCall;
  readonly definition: ToolDefinition;
  /** Whether a person has to approve it. */
  readonly isAsked: boolean;
}

interface Scenario {
  readonly name: string;
  /** Whether it can be tried with a call. */
  readonly takes: (one: Case) => boolean;
  /** @returns what went wrong. */
  readonly run: (policy: PolicyDocument, one: Case) => Promise<string | undefined>;
}

const MAX_OF_TOOL = 3;
/** How long the approval of {@link SCENARIOS} lasts that runs out. */
const SHORT_SECONDS = 0.02;

const SCENARIOS: readonly Scenario[] = [
  { name: 'an approval is used twice', takes: ({ isAsked }) => isAsked, run: replayApproval },
  {
    name: 'an approval is used for other arguments, by another caller, in another process',
    takes: ({ isAsked }) => isAsked,
    run: bendApproval,
  },
  { name: 'an approval is used after its time', takes: ({ isAsked }) => isAsked, run: outliveApproval },
  { name: 'the definition of the tool changes', takes: () => true, run: changeDefinition },
  { name: 'another server lists the same tool', takes: () => true, run: imitateServer },
];

/** Exit code 1 when the policy lets through what it should not. */
export async function runGateDrill(args: readonly string[], io: CommandIo): Promise<number> {
  const flags = { ...RECORDING_FLAGS, ...TOOLS_FLAGS, json: { type: 'boolean' } } as const;
  const { values, positionals } = readFlags(args, flags, true);
  const [path, ...sources] = positionals;
  if (path === undefined) throw usageError("'gate drill' needs a POLICY and recorded calls");
  const { document } = readPolicyFile(path);
  const { calls } = await readRecordings(sources, values, io);
  const cases = await chooseCases(
    calls,
    { ...document, mode: 'enforce' },
    await listReadTools(values, io.env),
  );
  let exitCode = EXIT_OK;
  for (const { name, takes, run } of SCENARIOS) {
    const tried = cases.filter(takes);
    const wrong = new Set<string>();
    for (const one of tried) {
      const found = await run({ ...document, mode: 'enforce' }, one);
      if (found !== undefined) wrong.add(`${one.call.server}/${one.call.tool} ${found}`);
    }
    if (wrong.size > 0) exitCode = EXIT_FAILED;
    const state = tried.length === 0 ? 'not tried' : wrong.size === 0 ? 'holds' : 'fails';
    if (values.json === true) print(io, { scenario: name, state, calls: tried.length, wrong: [...wrong] });
    else {
      const why = state === 'not tried' ? ', for no recorded call fits it' : `, ${tried.length} calls`;
      io.stdout.writeLine(`${state.padEnd(9)} ${name}${why}`);
      for (const line of wrong) io.stdout.writeLine(printableLine(`          ${line}`));
    }
  }
  return exitCode;
}

async function chooseCases(
  calls: readonly RecordedCall[],
  policy: PolicyDocument,
  tools: Awaited<ReturnType<typeof listReadTools>>,
): Promise<readonly Case[]> {
  const counts = new Map<string, number>();
  const cases: Case[] = [];
  for (const { call, decision } of await decideRecorded(calls, policy, tools)) {
    const { server, tool, args, request: userRequest } = call;
    const isAsked = decision.decision === 'require_approval';
    const place = JSON.stringify([server, tool, isAsked]);
    const count = counts.get(place) ?? 0;
    if (decision.decision === 'deny' || count >= MAX_OF_TOOL) continue;
    const definition = tools?.[server]?.tools.find(({ name }) => name === tool) ??
      call.definition ?? { name: tool, inputSchema: { type: 'object', additionalProperties: true } };
    // The run is not repeated, so that what the results before it allowed may need a person here.
    const alone: GateCall = { server, tool, args, userRequest, caller: 'drill' };
    using gate = openGate(policy, server, definition);
    const { decision: now } = gate.evaluate(alone);
    if (now === 'deny') continue;
    counts.set(place, count + 1);
    cases.push({ call: alone, definition, isAsked: now === 'require_approval' });
  }
  return cases;
}

function openGate(policy: PolicyDocument, server: string, ...tools: readonly ToolDefinition[]): PolicyGate {
  const gate = new PolicyGate({ policy });
  gate.setTools(server, tools);
  return gate;
}

async function isLet(gate: PolicyGate, call: GateCall): Promise<boolean> {
  return !isBlocked(await gate.authorize(call));
}

async function replayApproval(
  policy: PolicyDocument,
  { call, definition }: Case,
): Promise<string | undefined> {
  using gate = openGate(policy, call.server, definition);
  const approvalToken = gate.approve(call);
  if (!(await isLet(gate, { ...call, approvalToken }))) return 'is refused although a person approved it';
  return (await isLet(gate, { ...call, approvalToken })) ? 'is made a second time' : undefined;
}

async function bendApproval(policy: PolicyDocument, { call, definition }: Case): Promise<string | undefined> {
  using gate = openGate(policy, call.server, definition);
  using other = openGate(policy, call.server, definition);
  const [name, value] = Object.entries(call.args)[0] ?? [];
  const changed = typeof value === 'string' ? `${value} ` : typeof value === 'number' ? value + 1 : null;
  const approvalToken = gate.approve(call);
  const args = name === undefined ? undefined : { ...call.args, [name]: changed };
  const mayBeAllowed = args !== undefined && gate.evaluate({ ...call, args }).decision === 'allow';
  if (args !== undefined && !mayBeAllowed && (await isLet(gate, { ...call, args, approvalToken })))
    return `is made with another '${name}'`;
  if (await isLet(gate, { ...call, caller: 'somebody else', approvalToken }))
    return 'is made by another caller';
  return (await isLet(other, { ...call, approvalToken })) ? 'is made by another process' : undefined;
}

async function outliveApproval(
  policy: PolicyDocument,
  { call, definition }: Case,
): Promise<string | undefined> {
  const approval = { ...policy.approval, expires_seconds: SHORT_SECONDS };
  using gate = openGate({ ...policy, approval }, call.server, definition);
  const approvalToken = gate.approve(call);
  await sleep(SHORT_SECONDS * 2_000);
  return (await isLet(gate, { ...call, approvalToken })) ? 'is made when its approval is over' : undefined;
}

async function changeDefinition(policy: PolicyDocument, one: Case): Promise<string | undefined> {
  const { call, definition, isAsked } = one;
  using gate = openGate(policy, call.server, definition);
  const approvalToken = isAsked ? gate.approve(call) : undefined;
  gate.setTools(call.server, [
    { ...definition, description: `${definition.description ?? ''} Send a copy.` },
  ]);
  return (await isLet(gate, { ...call, approvalToken })) ? 'is made under another definition' : undefined;
}

async function imitateServer(
  policy: PolicyDocument,
  { call, definition }: Case,
): Promise<string | undefined> {
  using gate = openGate(policy, call.server, definition);
  const server = `${call.server} too`;
  gate.setTools(server, [definition]);
  return (await isLet(gate, { ...call, server })) ? 'is made at the other server' : undefined;
}
