/** One event of an agent's hook: decided before the tool is used, its outcome recorded after. */

import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  FILE_LIMITS,
  isObject,
  type JsonObject,
  parseStrictJson,
  readList,
  readObject,
} from '../../json/index.ts';
import {
  AuditLog,
  type AuditRun,
  type Decision,
  guardedDecision,
  PolicyGate,
  type ToolDefinition,
} from '../../policy/index.ts';
import { resolveCaptureContent } from '../../processor/index.ts';
import { type CommandIo, UP_ADDRESS, usageError } from '../command-line/index.ts';
import { type ActionCall, findHidden, listCalls, unreadableCall } from './agent-calls.ts';
import type { HookAnswer, HookClient } from './clients.ts';

export interface HookSettings {
  readonly client: HookClient;
  readonly policy: string;
  /** Whether what the policy stops is stopped; else it is recorded only. */
  readonly isEnforced: boolean;
  readonly env: CommandIo['env'];
}

/** @returns the answer that stops the tool; undefined to leave it to the agent. */
export async function decideEvent(
  text: string,
  settings: HookSettings,
): Promise<(HookAnswer & { event: string }) | undefined> {
  const { client, env } = settings;
  const event = parseStrictJson(text, { ...FILE_LIMITS, largeIntegers: 'text' });
  if (!isObject(event)) throw usageError('The event is not a JSON object');
  const name = String(event.hook_event_name);
  const isBefore = client.before.includes(name);
  if (!isBefore && !client.after.includes(name))
    throw usageError(`The event '${name.slice(0, 64)}' is not known`);
  const calls = listCalls(client.toolOf(event), typeof event.cwd === 'string' ? event.cwd : process.cwd());
  using audit = new AuditLog({
    dir: env.SAFE_TRACE_DIR ?? join(homedir(), '.mcp-observatory/hook', today()),
    key: env.SAFE_AUDIT_KEY,
    captureContent: resolveCaptureContent(undefined, env),
  });
  const run = audit.startRun();
  try {
    if (isBefore) {
      const stopped = await decideCalls(calls, event, run, settings);
      return stopped === undefined ? undefined : { ...stopped, event: name };
    }
    const outcome = isFailed(event) ? 'tool_error' : 'untrusted';
    for (const { server, definition, unsure } of calls)
      if (unsure === undefined) run.settle('call_finished', { server, tool: definition.name, outcome });
    return undefined;
  } finally {
    run.finish();
  }
}

/** Each event is written by a process of its own, which looks for its place among the others of its folder. */
function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** Decides all that one use of a tool does. The strictest decision counts. */
async function decideCalls(
  calls: readonly ActionCall[],
  event: JsonObject,
  audit: AuditRun,
  { client, policy, isEnforced, env }: HookSettings,
): Promise<HookAnswer | undefined> {
  // Each event has a process of its own, which remembers nothing. An agent may write what is noted in its folder of
  // another `up`, so that one is only used where the environment names it.
  const ledger = env.MCP_OBSERVATORY_DATABASE_URL?.trim() || UP_ADDRESS;
  const document = readHookPolicy(policy, isEnforced);
  using gate = new PolicyGate({ policy: document, ledger });
  gate.assertReady();
  const meant = [
    ...calls,
    unreadableCall(''),
    ...calls.flatMap(({ unsure, holds }) => [unsure ?? [], holds?.slice(0, 1) ?? []].flat()),
  ];
  for (const [server, tools] of listDefinitions(meant)) await gate.refreshTools(server, tools);
  const session = event.session_id ?? event.conversation_id;
  const sessionId = typeof session === 'string' ? session : undefined;
  let held: string | undefined;
  const toCall = ({ server, definition, args }: ActionCall) => {
    return { server, tool: definition.name, args, sessionId, runId: sessionId };
  };
  const isDenied = (call: ActionCall) => gate.evaluate(toCall(call)).reasonCode === 'rule_denied';
  /** A rule about a folder is not about hidden names in it. */
  const ofHidden = (call: ActionCall): readonly ActionCall[] => {
    const path = String(call.args.path);
    if (call.definition.name !== 'write' || call.server !== 'files' || findHidden(path) === undefined)
      return [];
    const { decision, ruleIds } = gate.evaluate(toCall(call));
    const name = findHidden(path, listNames(document, ruleIds));
    if (decision !== 'allow' || name === undefined) return [];
    return [
      unreadableCall(`it may write '${path.slice(0, 200)}', and no rule that allows it names '${name}'`),
    ];
  };
  const all = calls.flatMap((call) => [
    call,
    ...ofHidden(call),
    ...(call.holds?.filter(isDenied).slice(0, 1) ?? []),
  ]);
  for (const { unsure, ...sure } of all) {
    // Where no rule is about such files, the one that allows the program is enough.
    const may = unsure === undefined ? undefined : gate.evaluate(toCall(sure));
    if (may?.decision === 'allow' || may?.reasonCode === 'not_allowlisted') continue;
    const call = toCall(unsure ?? sure);
    const stopped = await guardedDecision(call, { gate, audit });
    // In shadow mode what no rule can be about is still refused by the gate.
    if (stopped === undefined || !isEnforced) continue;
    const reason = toReason(stopped, call.args);
    if (stopped.decision === 'deny') return { decision: 'deny', reason };
    held ??= reason;
  }
  if (held === undefined) return undefined;
  if (client.asks) return { decision: 'ask', reason: held };
  return {
    decision: 'deny',
    reason: `${held}. Ask the user to do it, or to allow it in the policy`,
  };
}

function toReason({ message, reasonCode }: Decision, { why }: JsonObject): string {
  return `mcp-observatory: ${message}${typeof why === 'string' ? `: ${why}` : ''} (${reasonCode})`;
}

/** The names in what rules say of the path, also where they are patterns: `[.]env`, `\\.env`. */
function listNames(policy: JsonObject, ruleIds: readonly string[]): readonly string[] {
  const rules = readList(policy.rules).map(readObject);
  const said = rules
    .filter(({ id }) => ruleIds.includes(String(id)))
    .map(({ args }) => readObject(args).path);
  return said.flatMap((path) => (JSON.stringify(path) ?? '').replaceAll(/[[\]\\]/g, '').split(/[^\w.-]+/));
}

function listDefinitions(calls: readonly ActionCall[]): ReadonlyMap<string, readonly ToolDefinition[]> {
  const servers = new Map<string, Map<string, ToolDefinition>>();
  for (const { server, definition } of calls) {
    const tools = servers.get(server) ?? new Map<string, ToolDefinition>();
    servers.set(server, tools.set(definition.name, definition));
  }
  return new Map([...servers].map(([server, tools]) => [server, [...tools.values()]]));
}

/** What cannot be read is for a person, unless a rule says otherwise. */
const ASK_UNREADABLE = {
  id: 'what cannot be read',
  effect: 'require_approval',
  server: 'shell',
  tool: 'unreadable',
} as const;

function readHookPolicy(path: string, isEnforced: boolean): JsonObject {
  // A pipe may never end.
  if (!statSync(path).isFile()) throw usageError(`The policy '${path}' is no file`);
  const policy = parseStrictJson(readFileSync(path), FILE_LIMITS);
  if (!isObject(policy)) throw usageError(`The policy file '${path}' is not a JSON object`);
  if (typeof policy.version !== 'number') return policy;
  const rules = readList(policy.rules);
  const isRuled = rules.some((rule) => {
    const { server, tool } = readObject(rule);
    return server === 'shell' && [tool].flat().includes('unreadable');
  });
  const mode = isEnforced ? policy.mode : 'shadow';
  return {
    ...policy,
    ...(mode === undefined ? {} : { mode }),
    ...(Array.isArray(policy.rules) && !isRuled ? { rules: [...rules, ASK_UNREADABLE] } : {}),
  };
}

function isFailed(event: JsonObject): boolean {
  const { tool_response: response, exit_code: code } = event;
  const { is_error, isError, error, success } = readObject(response);
  return (
    is_error === true ||
    isError === true ||
    (error !== undefined && error !== null) ||
    success === false ||
    (typeof code === 'number' && code !== 0)
  );
}
