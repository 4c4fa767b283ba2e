/** The servers of a `PolicyHost`: how they are connected, and how their tools reach the gate. */
import { ObservatoryError } from '../../base/index.ts';
import { type JsonObject, redactText } from '../../json/index.ts';
import {
  type ConnectServersOptions,
  connectServers,
  type ServerConnection,
  type ServerEntry,
  type ToolCallOutcome,
  type ToolDefinition,
} from '../../mcp-client/index.ts';
import type { CatalogTool } from '../catalog.ts';
import type { PolicyGate } from '../gate.ts';

/** What the host needs of a server. */
export interface PolicyServer {
  /** Every tool the server lists now. */
  listTools(): Promise<readonly ToolDefinition[]>;
  /** Calls a tool and returns the `CallToolResult` as the server sent it. */
  callTool(tool: string, args: JsonObject): Promise<unknown>;
  close(): Promise<void>;
}

/** How often a server that died is restarted between two successful calls. */
const DEFAULT_RECONNECTS = 2;

/**
 * Connects to all servers of a server config; see `loadServerConfig` for its form.
 *
 * @returns The servers by name.
 * @throws ObservatoryError `INVALID_SERVER_CONFIG`, `MISSING_PEER`, `SERVER_UNAVAILABLE` or `TOOL_LIST_REFUSED`, when
 *   one of them cannot be used; the others are closed.
 */
export async function connectPolicyServers(
  config: unknown,
  options: ConnectServersOptions = {},
): Promise<Readonly<Record<string, PolicyServer>>> {
  return await connectUsableServers(config, options, (error) => {
    throw error;
  });
}

/**
 * As {@link connectPolicyServers}, for those servers that can be used.
 * @param onFailed Called with the error of each other one.
 */
export async function connectUsableServers(
  config: unknown,
  options: ConnectServersOptions,
  onFailed: (error: ObservatoryError) => void,
): Promise<Readonly<Record<string, PolicyServer>>> {
  const pool = await connectServers(config, { maxReconnects: DEFAULT_RECONNECTS, ...options });
  try {
    const failed = pool.servers.flatMap(({ error }) => (error === undefined ? [] : [error]));
    for (const error of failed) onFailed(error);
  } catch (error) {
    await pool.close();
    throw error;
  }
  if (pool.servers.length === 0) {
    throw new ObservatoryError(
      'INVALID_SERVER_CONFIG',
      'The server config names no server, or only disabled ones; write { "mcpServers": { "name": { "command": "..." } } }.',
    );
  }
  const usable = pool.servers.filter(({ error }) => error === undefined);
  return Object.fromEntries(usable.map((each) => [each.name, policyServer(each)]));
}

/** As {@link connectPolicyServers}, for a single server. */
export async function connectPolicyServer(
  entry: ServerEntry,
  options: ConnectServersOptions = {},
): Promise<PolicyServer> {
  const { server } = await connectPolicyServers({ mcpServers: { server: entry } }, options);
  return server as PolicyServer;
}

function policyServer(connection: ServerConnection): PolicyServer {
  return {
    // The gate checks each definition itself and refuses those that are none.
    listTools: async () => (await connection.listTools()) as readonly ToolDefinition[],
    callTool: async (tool, args) => toRawResult(await connection.callTool(tool, args)),
    close: () => connection.close(),
  };
}

/** Longest error text of a server that is passed on. */
const MAX_ERROR_CHARS = 8_192;

type FailedCall = Exclude<ToolCallOutcome, { readonly kind: 'ok' | 'tool_error' }>;

/** A call that gave no result. `name` is the kind of its outcome, for the span and the audit. */
export class ToolCallError extends ObservatoryError {
  readonly outcome: ToolCallOutcome;

  constructor(outcome: FailedCall) {
    // What a server says about a failure reaches people and models, as its results do.
    const message = redactText(outcome.message.slice(0, MAX_ERROR_CHARS));
    super('TOOL_CALL_FAILED', message, { cause: 'cause' in outcome ? outcome.cause : undefined });
    this.name = outcome.kind;
    this.outcome = { ...outcome, message };
  }
}

/** The result of a call as the server sent it. @throws ToolCallError when there is none. */
export function toRawResult(outcome: ToolCallOutcome): JsonObject {
  if (outcome.kind === 'ok' || outcome.kind === 'tool_error') return outcome.raw;
  if (outcome.kind === 'invalid_output' && outcome.raw !== undefined) return outcome.raw;
  throw new ToolCallError(outcome);
}

/**
 * Lists every server, all at once, and passes the tools to the gate. A server that does not answer has no tools; the
 * others go on.
 *
 * @param onFailed Called for each server that could not be listed.
 * @returns The allowed tools in the order of the servers, whichever answered first, so that the planner always gets
 *   the same prompt.
 */
export async function discoverTools(
  gate: PolicyGate,
  servers: Iterable<readonly [id: string, server: Pick<PolicyServer, 'listTools'>]>,
  onFailed: (id: string, error: unknown) => void = () => {},
): Promise<readonly CatalogTool[]> {
  const ids = [...servers].map(([id, server]) => ({ id, listing: server.listTools() }));
  const listings = await Promise.allSettled(ids.map(({ listing }) => listing));
  for (const [index, listing] of listings.entries()) {
    const id = ids[index]?.id ?? '';
    if (listing.status === 'fulfilled') {
      await gate.refreshTools(id, listing.value, { all: true });
    } else {
      gate.removeServer(id);
      onFailed(id, listing.reason);
    }
  }
  return ids.flatMap(({ id }) => gate.allowedTools(id));
}
