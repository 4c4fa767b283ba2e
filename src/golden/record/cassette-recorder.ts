import { canonicalHash, type JsonObject } from '../../json/index.ts';
import type { McpCall, McpCassette, McpConnection } from '../file/index.ts';

type Ready = Extract<McpConnection, { outcome: 'ready' }>;
type CallEnd = Omit<
  McpCall,
  'server' | 'tool' | 'arguments' | 'duration_ms' | 'tools_changed' | 'server_died'
>;

interface OpenCall {
  readonly server: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly startedAt: number;
  end: CallEnd | undefined;
  durationMs: number;
  toolsChanged: boolean;
  died: McpCall['server_died'];
}

/** One opened server, while it is being recorded. */
export interface ConnectionRecording {
  /** The tools as the server lists them now. */
  listed(tools: readonly unknown[], isFirstPage: boolean): void;
  /** The server was there and did not give its tools: it counts as not opened. */
  failed(error: string): void;
}

/** Records what MCP servers say: each opening with its tool lists, each call with its end. */
export class CassetteRecorder {
  readonly #connections = new Map<string, McpConnection[]>();
  readonly #calls: OpenCall[] = [];

  /** A server that was opened. */
  opened(server: string, head: Omit<Ready, 'outcome' | 'tool_lists'>): ConnectionRecording {
    const lists: unknown[][] = [];
    const connections = this.#of(server);
    const at = connections.push({ outcome: 'ready', ...head, tool_lists: lists }) - 1;
    return {
      failed: (error) => {
        if (lists.length === 0) connections[at] = { outcome: 'failed', error };
      },
      listed: (tools, isFirstPage) => {
        if (isFirstPage) lists.push([...tools]);
        else lists.at(-1)?.push(...tools);
      },
    };
  }

  /** A server that could not be opened. */
  failed(server: string, error: string): void {
    this.#of(server).push({ outcome: 'failed', error });
  }

  /** A call that has started. @returns takes its end. */
  called(server: string, tool: string, args: JsonObject): (end: CallEnd) => void {
    const call: OpenCall = {
      server,
      tool,
      arguments: args,
      startedAt: performance.now(),
      end: undefined,
      durationMs: 0,
      toolsChanged: false,
      died: undefined,
    };
    this.#calls.push(call);
    return (end) => {
      call.end = end;
      call.durationMs = performance.now() - call.startedAt;
    };
  }

  /** The server announced other tools. It is put down to the last call of that server. */
  toolsChanged(server: string): void {
    const call = this.#lastCallOf(server);
    if (call !== undefined) call.toolsChanged = true;
  }

  /** The server went away. It is put down to the last call of that server. */
  died(server: string, cause: string, stderr: string): void {
    const call = this.#lastCallOf(server);
    if (call !== undefined) call.died = { cause, stderr };
  }

  /** What was said so far; null when no server took part. */
  cassette(): McpCassette | null {
    if (this.#connections.size === 0) return null;
    const servers = [...this.#connections].map(([name, connections]) => [name, { connections }] as const);
    const calls = this.#calls.flatMap((call): McpCall[] => {
      if (call.end === undefined) return [];
      const { server, tool, arguments: args, durationMs, toolsChanged, died } = call;
      return [
        {
          server,
          tool,
          arguments: args,
          ...call.end,
          ...(toolsChanged ? { tools_changed: true as const } : {}),
          ...(died === undefined ? {} : { server_died: died }),
          duration_ms: Math.round(durationMs),
        },
      ];
    });
    return { servers: Object.fromEntries(servers), calls };
  }

  /** Hash of each server's first tool list. */
  toolHashes(): Record<string, string> {
    return Object.fromEntries(
      [...this.#connections].flatMap(([name, [first]]) =>
        first?.outcome === 'ready' ? [[name, canonicalHash(first.tool_lists[0] ?? [])]] : [],
      ),
    );
  }

  #lastCallOf(server: string): OpenCall | undefined {
    return this.#calls.findLast((call) => call.server === server);
  }

  #of(server: string): McpConnection[] {
    const connections = this.#connections.get(server) ?? [];
    this.#connections.set(server, connections);
    return connections;
  }
}
