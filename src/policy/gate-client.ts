/** Puts the gate in front of an MCP client: tools that are not allowed are neither listed nor callable. */

import { ObservatoryError } from '../base/index.ts';
import { isObject, type JsonObject, objectOf } from '../json/index.ts';
import type { AuditRun } from './audit.ts';
import type { PolicyGate } from './gate.ts';
import type { GateCall } from './gate-types.ts';
import { guardedCall, refuseBypass } from './guarded-call.ts';
import type { ToolDefinition } from './tool-definition.ts';

/** What the gate needs of a client; `Client` of the official SDK (v1 and v2) has it. */
export interface GateableClient {
  listTools(params?: { cursor?: string }, options?: unknown): Promise<unknown>;
  callTool(params: { name: string; arguments?: Record<string, unknown> }, ...rest: never[]): Promise<unknown>;
}

export interface GateClientOptions {
  /** The server's id in the policy. Never the name the server gives itself. */
  readonly server: string;
  /** When the tools are listed again: before each call, or only when the server says they changed. @defaultValue 'always' */
  readonly recheck?: 'always' | 'on_change' | undefined;
  /** Adds caller, run, user request and approval to each call. @defaultValue the run of `audit`, nothing else */
  readonly context?: ((tool: string) => Partial<GateCall>) | undefined;
  readonly audit?: AuditRun | undefined;
}

/** Pages of tools that are read, and tools altogether: a server must not keep a client listing for ever. */
const MAX_PAGES = 100;
const MAX_TOOLS = 10_000;

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
    const tools = await listAll(client);
    isStale = false;
    gate.setTools(server, tools);
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
    // Only what was decided about is sent: no `_meta`, no `task` of the caller's.
    const invoke = () => client.callTool({ name, arguments: { ...args } }, ...rest);
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

async function listAll(client: GateableClient): Promise<readonly ToolDefinition[]> {
  const tools: ToolDefinition[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const result = await client.listTools(cursor === undefined ? undefined : { cursor });
    if (!isObject(result) || !Array.isArray(result.tools)) break;
    tools.push(...(result.tools as ToolDefinition[]));
    const next = result.nextCursor;
    if (tools.length > MAX_TOOLS) break;
    if (typeof next !== 'string' || next === cursor) return tools;
    cursor = next;
  }
  throw new ObservatoryError(
    'INVALID_INPUT',
    'The server did not end its list of tools; none of them is used',
  );
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
