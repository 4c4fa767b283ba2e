/** Puts the gate in front of an MCP client: tools that are not allowed are neither listed nor callable. */

import { randomUUID } from 'node:crypto';
import {
  checkOptions,
  checkValue,
  having,
  kinds,
  ObservatoryError,
  type OptionKinds,
  oneOf,
  required,
} from '../base/index.ts';
import { type JsonObject, readObject } from '../json/index.ts';
import {
  boundTransport,
  LIST_KINDS,
  MESSAGE_KINDS,
  type MessageLimits,
  readToolList,
  requestToolCall,
  requestToolPage,
  type ToolDefinition,
  type ToolListLimits,
  withRawResults,
} from '../mcp-client/index.ts';
import type { AuditRun } from './audit/index.ts';
import { type CallArguments, copyArguments } from './call-arguments.ts';
import { gatedMember, guardHandlers } from './client-requests.ts';
import type { PolicyGate } from './gate.ts';
import type { GateCall } from './gate-types.ts';
import { guardedCall, refuseBypass } from './guarded-call.ts';
import type { RequestGuardOptions } from './guarded-request.ts';
import { ListWatch } from './list-watch.ts';
import { A_GATE, AN_AUDIT_RUN } from './option-kinds.ts';
import { findSession } from './run-sources.ts';

/** What the gate needs of a client; `Client` of the official SDK (v1 and v2) has it. */
export interface GateableClient {
  listTools(params?: { cursor?: string }, options?: unknown): Promise<unknown>;
  callTool(params: { name: string; arguments?: Record<string, unknown> }, ...rest: never[]): Promise<unknown>;
}

export interface GateClientOptions extends ToolListLimits, MessageLimits {
  /** The server's id in the policy. Never the name the server gives itself. */
  readonly server: string;
  /**
   * When the tools are listed again: before each call, or only when the server says they changed. Where that cannot be
   * observed, `on_change` lists before each call too. @defaultValue 'always'
   */
  readonly recheck?: 'always' | 'on_change' | undefined;
  /** Adds caller, run, user request and approval to each call. @defaultValue the run of `audit`, nothing else */
  readonly context?: ((tool: string) => Partial<GateCall>) | undefined;
  readonly audit?: AuditRun | undefined;
}

const OPTIONS: OptionKinds<GateClientOptions> = {
  server: required(kinds.string),
  recheck: oneOf('always', 'on_change'),
  context: { ...kinds.function, expected: 'a function (tool) => ({ caller, ... })' },
  audit: AN_AUDIT_RUN,
  ...LIST_KINDS,
  ...MESSAGE_KINDS,
};

/** Members of the SDK's client through which nothing is asked. Others that are not gated are refused. */
const HARMLESS: ReadonlySet<string> = new Set(
  (
    'close connect ping getServerCapabilities getServerVersion getNegotiatedProtocolVersion setLoggingLevel ' +
    'sendRootsListChanged onclose onerror setNotificationHandler removeNotificationHandler setRequestHandler ' +
    'removeRequestHandler assertCanSetRequestHandler registerCapabilities fallbackRequestHandler'
  ).split(' '),
);

/**
 * Gates a client. The result has the client's type: `listTools` shows the allowed tools, `callTool` goes through the
 * gate and throws `PolicyDeniedError`, and members that would go around it (`request`, `transport`, `experimental`)
 * are refused. Resources, prompts, completions, the server's instructions, and what the server asks of the client are
 * denied unless the policy's `servers` allows them.
 *
 * A result that fails its type is withheld; one with `isError` or of a tool without an output type is cut to size,
 * loses its secrets (`redact` of the policy) and is marked in its `_meta` (`mcp-observatory.dev/untrusted`).
 *
 * The SDK's transports follow redirects within the server's origin only, whatever their `redirectPolicy`.
 */
export function gateClient<T extends GateableClient>(
  client: T,
  gate: PolicyGate,
  options: GateClientOptions,
): T {
  checkValue('the client of gateClient()', client, having('an MCP client', 'listTools', 'callTool'));
  checkValue('the gate of gateClient()', gate, A_GATE);
  checkOptions(options, OPTIONS, 'gateClient()');
  const { server } = options;
  const watch = options.recheck === 'on_change' ? new ListWatch(client) : undefined;
  const { audit, context } = options;
  const connection = randomUUID();
  const shared = (tool: string) => ({ sessionId: findSession({}) ?? connection, ...context?.(tool) });
  const requests: RequestGuardOptions = { gate, audit, context: () => shared('') };
  guardHandlers(client, server, requests);
  boundTransport((client as { transport?: unknown }).transport, options);

  const relist = async (all: boolean): Promise<void> => {
    if (watch?.isFresh === true) return;
    watch?.listing();
    const tools = await readToolList(server, (cursor, signal) => toPage(client, cursor, signal), options);
    // Unchecked: the gate refuses what is no definition.
    await gate.refreshTools(server, tools as readonly ToolDefinition[], { all });
  };
  const refresh = async (all = false): Promise<void> => {
    try {
      await relist(all);
    } catch (error) {
      watch?.stale();
      throw error;
    }
  };

  const listTools = async (): Promise<{ tools: readonly ToolDefinition[] }> => {
    watch?.stale();
    await refresh(true);
    return { tools: gate.allowedTools(server).map((tool) => tool.definition) };
  };

  const callTool = async (params: unknown, ...rest: never[]): Promise<unknown> => {
    const { name, args, isUnsafe } = readParams(params);
    const runId = options.audit?.id;
    const call: GateCall = { runId, ...shared(name), server, tool: name, args };
    const invoke = async (sent: JsonObject) => {
      if (isUnsafe) throw new ObservatoryError('INVALID_INPUT', "The arguments of 'callTool' are not JSON");
      return toCall(client, gate, { ...call, args: sent }, rest);
    };
    const { result } = await guardedCall(call, invoke, {
      gate,
      audit: options.audit,
      refresh: () => refresh(),
      read: (tool, sent) => toCall(client, gate, { ...call, tool, args: sent }, rest),
    });
    return result;
  };

  return new Proxy(client, {
    get(target, property) {
      if (property === 'listTools') return listTools;
      if (property === 'callTool') return callTool;
      // A gated client must not look like a promise, nor break inspection.
      if (typeof property === 'symbol' || property === 'then' || property === 'constructor') return undefined;
      const gated = gatedMember(target, property, server, requests);
      if (gated !== undefined) return gated;
      if (!HARMLESS.has(property)) throw refuseBypass(server, property);
      const member: unknown = Reflect.get(target, property, target);
      if (property === 'connect' && typeof member === 'function') {
        return (transport: unknown, ...rest: unknown[]): unknown => {
          boundTransport(transport, options);
          return Reflect.apply(member, target, [transport, ...rest]);
        };
      }
      return typeof member === 'function' ? member.bind(target) : member;
    },
    getOwnPropertyDescriptor: () => undefined,
    getPrototypeOf: () => null,
    ownKeys: () => [],
  });
}

/**
 * Calls the tool. Only what was decided is sent, not the caller's `_meta` or `task`, and no SDK checks the result by the
 * output schema: the gate does, within its budget.
 *
 * Client v2 takes a tool's definition from its own listing, to mirror arguments into headers (SEP-2243). It has made
 * none here, so the definition goes with the call, without the output schema.
 */
function toCall(
  client: GateableClient,
  gate: PolicyGate,
  { server, tool, args }: GateCall,
  rest: readonly never[],
): Promise<unknown> {
  const params = { name: tool, arguments: { ...args } };
  const isSdk = 'request' in client && 'getServerCapabilities' in client;
  if (!isSdk) return client.callTool(params, ...rest);
  if (!('getProtocolEra' in client)) return requestToolCall(client, tool, params.arguments, rest[1]);
  const rawClient = withRawResults(client);
  const definition = gate.find(server, tool)?.definition;
  if (definition === undefined) return rawClient.callTool(params, ...rest);
  const { name, inputSchema } = definition;
  return rawClient.callTool(params, {
    ...readObject(rest[0]),
    toolDefinition: { name, inputSchema },
  } as never);
}

function readParams(params: unknown): { name: string } & CallArguments {
  const { name, arguments: given = {} } = readObject(params);
  if (typeof name !== 'string') {
    throw new ObservatoryError(
      'INVALID_INPUT',
      "'callTool' takes {name, arguments}, with a name that is a string",
    );
  }
  return { name, ...copyArguments(given, "'callTool'") };
}

/**
 * One page of the tool list. Asked with `request` where the client has it: `listTools` of SDK v1 compiles every output
 * schema of the server with an engine that has no bounds, and that of v2 refuses a list because of one tool.
 */
async function toPage(
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
  if (readObject(getServerCapabilities.call(client)).tools === undefined) return { tools: [] };
  return await requestToolPage(client, cursor, signal);
}
