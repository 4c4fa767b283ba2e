/** Calls of recordings, and what a policy decides about them. Nothing is called. */
import { sliced } from '../../base/index.ts';
import { isObject, type JsonObject } from '../../json/index.ts';
import type { ToolDefinition } from '../../mcp-client/index.ts';
import type { Decision } from '../decision.ts';
import { PolicyGate } from '../gate.ts';
import type { PolicyDocument } from '../policy-file.ts';
import type { ToolsByServer } from '../tool-definition.ts';

export interface RecordedCall {
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
  /** The run it belongs to: results are sources within one. @defaultValue '' */
  readonly run?: string | undefined;
  readonly request?: string | undefined;
  /** What was handed on. Absent if there was none, or it is not known. */
  readonly result?: unknown;
  /** False if the policy of then stopped it. @defaultValue true */
  readonly wasMade?: boolean | undefined;
  readonly definition?: ToolDefinition | undefined;
}

export interface DecidedCall {
  readonly call: RecordedCall;
  readonly decision: Decision;
}

/**
 * Decides recorded calls in their order. Results are sources of later calls of their run, as if all calls had been made.
 * Budgets and approvals are not asked.
 * @param tools definitions that are known. @defaultValue those of the calls; else a tool takes any arguments
 * @throws ObservatoryError `POLICY_INVALID`
 */
export async function decideRecorded(
  calls: readonly RecordedCall[],
  policy: string | PolicyDocument,
  tools: ToolsByServer = {},
): Promise<readonly DecidedCall[]> {
  using gate = new PolicyGate({ policy });
  gate.assertReady();
  for (const [server, listing] of Object.entries(listTools(calls, tools)))
    await gate.refreshTools(server, listing.tools);
  const turn = sliced();
  const decided: DecidedCall[] = [];
  for (const recorded of calls) {
    const { server, tool, args, run: runId, request: userRequest, result } = recorded;
    const call = { server, tool, args, runId, userRequest };
    decided.push({ call: recorded, decision: await gate.evaluateInSlices(call) });
    await gate.rememberResult(call, result);
    await turn();
  }
  return decided;
}

/** The tools of the calls: as they are known, else as they were recorded, else with the arguments they were given, and any others. */
function listTools(calls: readonly RecordedCall[], known: ToolsByServer): ToolsByServer {
  const servers = new Map<string, Map<string, ToolDefinition>>();
  const add = (server: string, definition: ToolDefinition): ToolDefinition => {
    const tools = servers.get(server) ?? new Map<string, ToolDefinition>();
    servers.set(server, tools);
    const first = tools.get(definition.name) ?? definition;
    tools.set(definition.name, first);
    return first;
  };
  for (const [server, { tools }] of Object.entries(known)) for (const tool of tools) add(server, tool);
  const given = new Map<ToolDefinition, Record<string, object>>();
  for (const { server, tool, definition, args } of calls) {
    const isUsable = isObject(definition) && definition.name === tool;
    if (isUsable) add(server, definition);
    // What the file of tools leaves out is gone from a server that it names.
    if (isUsable || Object.hasOwn(known, server)) continue;
    const properties: Record<string, object> = Object.create(null);
    const guessed = { name: tool, inputSchema: { type: 'object', properties, additionalProperties: true } };
    const first = add(server, guessed);
    if (first === guessed) given.set(first, properties);
    const seen = given.get(first);
    if (seen !== undefined && isObject(args)) for (const name of Object.keys(args)) seen[name] = {};
  }
  return Object.fromEntries([...servers].map(([server, tools]) => [server, { tools: [...tools.values()] }]));
}
