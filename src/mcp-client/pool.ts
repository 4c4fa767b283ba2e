import { diag } from '@opentelemetry/api';
import { checkOptions, isDoneWithin, kinds, ObservatoryError, type OptionKinds } from '../base/index.ts';
import type { JsonObject } from '../json/index.ts';
import { loadServerConfig, type ParseConfigOptions } from './config.ts';
import { ServerConnection } from './connection.ts';
import { type OpenLink, openLink } from './link.ts';
import { MESSAGE_KINDS } from './message-meter.ts';
import { LIST_KINDS } from './tool-list.ts';
import type { CallableTool, ConnectionOptions, ToolCallOptions, ToolCallOutcome } from './types.ts';

export interface ConnectServersOptions extends ConnectionOptions, ParseConfigOptions {
  /** Aborts connecting: servers that are starting are ended, and `connectServers` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Replaces {@link openLink}, to record servers or to play them back. */
  readonly openLink?: OpenLink | undefined;
  /** Called when a server announced changed tools and they have been read. */
  readonly onToolsChanged?: ((server: ServerConnection) => void) | undefined;
}

const CONNECTION_KINDS: OptionKinds<ConnectionOptions> = {
  ...LIST_KINDS,
  ...MESSAGE_KINDS,
  connectTimeoutMs: kinds.number,
  closeTimeoutMs: kinds.number,
  maxReconnects: kinds.number,
  handlers: kinds.object,
  guard: kinds.function,
};

const CONNECT_SERVERS_KINDS: OptionKinds<ConnectServersOptions> = {
  ...CONNECTION_KINDS,
  signal: { expected: 'an AbortSignal', accepts: (value) => value instanceof AbortSignal },
  openLink: kinds.function,
  onToolsChanged: kinds.function,
  expandVariables: kinds.boolean,
  env: kinds.object,
  inputs: kinds.object,
};

export interface ServerTool {
  readonly server: string;
  readonly tool: CallableTool;
}

/**
 * Starts or reaches all servers of a Claude Desktop style config at once (see {@link loadServerConfig} for its form).
 * One that fails does not stop the others: it stays in the pool with its `error`.
 *
 * @throws ObservatoryError `INVALID_SERVER_CONFIG` before anything is started; the signal's reason when it fires.
 */
export async function connectServers(
  config: unknown,
  options: ConnectServersOptions = {},
): Promise<ServerPool> {
  checkOptions(options, CONNECT_SERVERS_KINDS, 'connectServers()');
  options.signal?.throwIfAborted();
  const configs = await loadServerConfig(config, options);
  const changed = (connection: ServerConnection): void => {
    try {
      options.onToolsChanged?.(connection);
    } catch (error) {
      diag.warn('mcp-observatory: onToolsChanged threw', error);
    }
  };
  const connections = configs.map(
    (each) => new ServerConnection(each, options, changed, options.openLink ?? openLink),
  );
  const pool = new ServerPool(connections);
  await Promise.all(connections.map((each) => each.connect(options.signal)));
  if (options.signal?.aborted) {
    await pool.close();
    options.signal.throwIfAborted();
  }
  return pool;
}

/** The servers of one run. Close the pool that you open: `await using pool = await connectServers(config)`. */
export class ServerPool {
  readonly #connections: ReadonlyMap<string, ServerConnection>;

  constructor(connections: readonly ServerConnection[]) {
    this.#connections = new Map(connections.map((each) => [each.name, each]));
  }

  /** All servers, in the order of the config, failed ones included. */
  get servers(): readonly ServerConnection[] {
    return [...this.#connections.values()];
  }

  /** The tools of all servers that are ready, in the order of the config and of each server's list. */
  get tools(): readonly ServerTool[] {
    return this.servers.flatMap((each) =>
      each.state === 'ready' ? each.tools.map((tool) => ({ server: each.name, tool })) : [],
    );
  }

  /** Resolves when all announced changes of tools have been read, at the latest after `limitMs`. */
  async toolsSettled(limitMs: number): Promise<void> {
    const unsettled = this.servers.filter((each) => each.toolsUnsettled);
    if (unsettled.length === 0) return;
    const settled = Promise.allSettled(unsettled.map((each) => each.toolsSettled()));
    await isDoneWithin(limitMs, settled);
  }

  /** @throws ObservatoryError `INVALID_OPTION` when the config names no such server. */
  server(name: string): ServerConnection {
    const connection = this.#connections.get(name);
    if (connection !== undefined) return connection;
    const known = [...this.#connections.keys()].map((each) => `"${each}"`).join(', ') || 'none';
    throw new ObservatoryError('INVALID_OPTION', `There is no server "${name}"; the config names ${known}.`);
  }

  /** @throws ObservatoryError `INVALID_OPTION` when there is no such server or tool; all else is an outcome. */
  async callTool(
    server: string,
    tool: string,
    args: JsonObject,
    options?: ToolCallOptions,
  ): Promise<ToolCallOutcome> {
    return this.server(server).callTool(tool, args, options);
  }

  /** Ends all servers at once. Never rejects; may be called again. */
  async close(): Promise<void> {
    await Promise.all(this.servers.map((each) => each.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
