/** Puts the gate in front of an MCP client: tools that are not allowed are neither listed nor callable. */

import { ObservatoryError } from '../base/index.ts';
import { type JsonObject, objectOf } from '../json/index.ts';
import {
  readToolList,
  requestToolPage,
  type ToolDefinition,
  type ToolListLimits,
} from '../mcp-client/index.ts';
import type { AuditRun } from './audit.ts';
import type { PolicyGate } from './gate.ts';
import type { GateCall } from './gate-types.ts';
import { guardedCall, refuseBypass } from './guarded-call.ts';

/** What the gate needs of a client; `Client` of the official SDK (v1 and v2) has it. */
export interface GateableClient {
  listTools(params?: { cursor?: string }, options?: unknown): Promise<unknown>;
  callTool(params: { name: string; arguments?: Record<string, unknown> }, ...rest: never[]): Promise<unknown>;
}

export interface GateClientOptions extends ToolListLimits {
  /** The server's id in the policy. Never the name the server gives itself. */
  readonly server: string;
  /** When the tools are listed again: before each call, or only when the server says they changed. @defaultValue 'always' */
  readonly recheck?: 'always' | 'on_change' | undefined;
  /** Adds caller, run, user request and approval to each call. @defaultValue the run of `audit`, nothing else */
  readonly context?: ((tool: string) => Partial<GateCall>) | undefined;
  readonly audit?: AuditRun | undefined;
}

/** Members of the SDK's client through which nothing can be called. All others of a gated client are refused. */
const HARMLESS: ReadonlySet<string> = new Set(
  (
    'close connect ping complete getPrompt listPrompts listResources listResourceTemplates readResource subscribeResource ' +
    'unsubscribeResource getServerCapabilities getServerVersion getInstructions getNegotiatedProtocolVersion ' +
    'setLoggingLevel sendRootsListChanged onclose onerror setNotificationHandler removeNotificationHandler ' +
    'setRequestHandler removeRequestHandler assertCanSetRequestHandler registerCapabilities fallbackRequestHandler'
  ).split(' '),
);

/**
 * Gates a client. The result has the client's type: `listTools` shows the allowed tools, `callTool` goes through the
 * gate and throws `PolicyDeniedError`, and members that would go around it (`request`, `transport`, `experimental`)
 * are refused.
 *
 * Secrets of known form are redacted in results. A result that fails its type is withheld; one with `isError` or of a
 * tool without an output type is cut to size and marked in its `_meta` (`mcp-observatory.dev/untrusted`).
 */
export function gateClient<T extends GateableClient>(
  client: T,
  gate: PolicyGate,
  options: GateClientOptions,
): T {
  const { server } = options;
  let isStale = true;
  if (options.recheck === 'on_change') watchChanges(client, () => (isStale = true));

  const refresh = async (): Promise<void> => {
    if (!isStale && options.recheck === 'on_change') return;
    const tools = await readToolList(server, (cursor, signal) => pageOf(client, cursor, signal), options);
    isStale = false;
    // Unchecked: the gate refuses what is no definition.
    gate.setTools(server, tools as readonly ToolDefinition[]);
  };

  const listTools = async (): Promise<{ tools: readonly ToolDefinition[] }> => {
    isStale = true;
    await refresh();
    return { tools: gate.allowedTools(server).map((tool) => tool.definition) };
  };

  const callTool = async (params: unknown, ...rest: never[]): Promise<unknown> => {
    const { name, args } = readParams(params);
    const runId = options.audit?.id;
    const call: GateCall = { runId, ...options.context?.(name), server, tool: name, args };
    // Only what was decided is sent, not the caller's `_meta` or `task`.
    const invoke = () =>
      client.callTool({ name, arguments: { ...args } }, ...withDefinition(client, gate, call, rest));
    const { result } = await guardedCall(call, invoke, { gate, audit: options.audit, refresh });
    return result;
  };

  return new Proxy(client, {
    get(target, property) {
      if (property === 'listTools') return listTools;
      if (property === 'callTool') return callTool;
      // A gated client must not look like a promise, nor break inspection.
      if (typeof property === 'symbol' || property === 'then' || property === 'constructor') return undefined;
      if (!HARMLESS.has(property)) throw refuseBypass(server, property);
      const member: unknown = Reflect.get(target, property, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
    getOwnPropertyDescriptor: () => undefined,
    getPrototypeOf: () => null,
    ownKeys: () => [],
  });
}

/**
 * Client v2 takes a tool's definition from its own listing, to mirror arguments into headers (SEP-2243). It has made
 * none here, so the definition goes with the call; without the output schema, which the gate checks.
 */
function withDefinition(
  client: object,
  gate: PolicyGate,
  call: GateCall,
  rest: readonly never[],
): readonly never[] {
  if (!('getProtocolEra' in client)) return rest;
  const { server, tool } = call;
  const definition = gate.allowedTools(server).find(({ name }) => name === tool)?.definition;
  if (definition === undefined) return rest;
  const { name, inputSchema } = definition;
  return [{ ...objectOf(rest[0]), toolDefinition: { name, inputSchema } } as never];
}

function readParams(params: unknown): { name: string; args: JsonObject } {
  const { name, arguments: given } = objectOf(params);
  if (typeof name !== 'string') {
    throw new ObservatoryError(
      'INVALID_INPUT',
      "'callTool' takes {name, arguments}, with a name that is a string",
    );
  }
  // A snapshot: what is checked is what is sent, whatever the caller does to its object meanwhile.
  let args: unknown;
  try {
    args = given === undefined ? {} : structuredClone(given);
  } catch (cause) {
    throw new ObservatoryError('INVALID_INPUT', "The arguments of 'callTool' are not JSON", { cause });
  }
  return { name, args: args as JsonObject };
}

/**
 * One page of the tool list. Asked with `request` where the client has it: `listTools` of SDK v1 compiles every output
 * schema of the server with an engine that has no bounds, and that of v2 refuses a list because of one tool.
 */
async function pageOf(
  client: GateableClient,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  const { request, getServerCapabilities } = client as {
    request?: unknown;
    getServerCapabilities?: () => unknown;
  };
  if (typeof request !== 'function' || typeof getServerCapabilities !== 'function') {
    return await client.listTools(cursor === undefined ? undefined : { cursor }, { signal });
  }
  // A server without tools answers the request with an error.
  if (objectOf(getServerCapabilities.call(client)).tools === undefined) return { tools: [] };
  return await requestToolPage(client, cursor, signal);
}

/** Hears `tools/list_changed` through the SDK's handler, whose schema argument differs between v1 and v2. */
function watchChanges(client: object, onChange: () => void): void {
  const set = (client as { fallbackNotificationHandler?: unknown }).fallbackNotificationHandler;
  Object.assign(client, {
    fallbackNotificationHandler: async (notification: { method?: unknown }) => {
      if (notification.method === 'notifications/tools/list_changed') onChange();
      if (typeof set === 'function') await set(notification);
    },
  });
}
