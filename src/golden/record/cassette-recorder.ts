import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../json/index.ts';
import {
  DEFAULT_CONNECT_TIMEOUT_MS,
  findExpiry,
  type McpSession,
  NeverRan,
  notReadyWithin,
  type OpenLink,
  openLink,
  type RequestControls,
  readReason,
  type ServerLink,
  unavailable,
} from '../../mcp-client/index.ts';
import type { McpCall, McpCassette, McpConnection } from '../file/index.ts';

type Ready = Extract<McpConnection, { outcome: 'ready' }>;
type CallEnd = Pick<McpCall, 'outcome' | 'result' | 'error' | 'message' | 'session_expired'>;

interface OpenCall {
  readonly server: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly startedAt: number;
  end: CallEnd | undefined;
  durationMs: number;
  toolsChanged: boolean;
  died: McpCall['server_died'];
  /** Empty where nobody takes notes. */
  readonly order: number[];
  readonly before: JsonObject[];
  readonly after: JsonObject[];
}

export interface CallRecording {
  ended(end: CallEnd): void;
  /** The server sent something about the call, while it is open or after it. */
  sent(message: JsonObject): void;
}

/** For recordings that keep each part as soon as it is known. */
export interface CassetteNotes {
  /** The next position in the sequence of requests and answers. */
  next(): number;
  /** A connection was opened, or has listed its tools. */
  connected(server: string, at: number, connection: McpConnection): void;
  /** A call was made. */
  asked(server: string, tool: string, args: JsonObject): void;
  /** A call has ended, or something was added to it. */
  called(call: McpCall): void;
}

interface ConnectionRecording {
  listed(tools: readonly unknown[], isFirstPage: boolean): void;
  /** The server connected but did not list its tools, which counts as a failed connection. */
  failed(error: string): void;
}

/** Records MCP servers: each connection with its tool lists, each call with its outcome. */
export class CassetteRecorder {
  readonly #connections = new Map<string, McpConnection[]>();
  readonly #calls: OpenCall[] = [];
  /** Calls to which something was added since they were noted. */
  readonly #unnoted = new Set<OpenCall>();
  readonly #notes: CassetteNotes | undefined;

  constructor(notes?: CassetteNotes) {
    this.#notes = notes;
  }

  opened(server: string, head: Omit<Ready, 'outcome' | 'tool_lists'>): ConnectionRecording {
    const lists: unknown[][] = [];
    const connections = this.#of(server);
    const at = connections.push({ outcome: 'ready', ...head, tool_lists: lists }) - 1;
    const note = (): void => this.#notes?.connected(server, at, connections[at] as McpConnection);
    note();
    return {
      failed: (error) => {
        if (lists.length === 0) connections[at] = { outcome: 'failed', error };
        note();
      },
      listed: (tools, isFirstPage) => {
        const list = lists.at(-1);
        // Some servers give their only page again and again.
        const known = new Set(isFirstPage ? [] : list?.map((tool) => JSON.stringify(tool)));
        if (!isFirstPage && tools.every((tool) => known.has(JSON.stringify(tool)))) return;
        // A program may ask often, and its answers are kept besides.
        if (isFirstPage && this.#notes !== undefined && isDeepStrictEqual(lists.at(-2), list)) lists.pop();
        if (isFirstPage) lists.push([...tools]);
        else list?.push(...tools);
        note();
      },
    };
  }

  failed(server: string, error: string): void {
    const connection = { outcome: 'failed', error } as const;
    const at = this.#of(server).push(connection) - 1;
    this.#notes?.connected(server, at, connection);
  }

  called(server: string, tool: string, args: JsonObject): CallRecording {
    const call: OpenCall = {
      server,
      tool,
      arguments: args,
      startedAt: performance.now(),
      end: undefined,
      durationMs: 0,
      toolsChanged: false,
      died: undefined,
      order: this.#notes === undefined ? [] : [this.#notes.next()],
      before: [],
      after: [],
    };
    this.#calls.push(call);
    this.#notes?.asked(server, tool, args);
    return {
      ended: (end) => {
        if (call.end !== undefined) return;
        call.end = end;
        call.durationMs = performance.now() - call.startedAt;
        if (this.#notes !== undefined) call.order.push(this.#notes.next());
        this.#note(call);
      },
      sent: (message) => this.#sent(call, message),
    };
  }

  /** The server sent something that belongs to no call. Attributed to the latest call to it. */
  sent(server: string, message: JsonObject): void {
    const call = this.#findLastCall(server);
    if (call !== undefined) this.#sent(call, message);
  }

  #sent(call: OpenCall, message: JsonObject): void {
    const at = this.#notes === undefined ? {} : { at: this.#notes.next() };
    if (call.end === undefined) {
      call.before.push({ ...at, ...message });
      return;
    }
    const count = call.after.push({ ...at, ...message });
    // A note holds the whole call: one for each message would be quadratic.
    if ((count & (count - 1)) === 0) this.#note(call);
    else if (this.#notes !== undefined) this.#unnoted.add(call);
  }

  /** Notes what was added to calls since. */
  endNotes(): void {
    for (const call of this.#unnoted) this.#note(call);
  }

  /** The server announced a changed tool list. Attributed to the latest call to that server. */
  toolsChanged(server: string): void {
    const call = this.#findLastCall(server);
    if (call !== undefined) call.toolsChanged = true;
    this.#note(call);
  }

  /** The server went away. Attributed to the latest call to that server. */
  died(server: string, cause: string, stderr: string): void {
    const call = this.#findLastCall(server);
    if (call !== undefined) call.died = { cause, stderr };
    this.#note(call);
  }

  /** Everything recorded so far; null without servers. */
  cassette(): McpCassette | null {
    if (this.#connections.size === 0) return null;
    const servers = [...this.#connections].map(([name, connections]) => [name, { connections }] as const);
    const calls = this.#calls.flatMap((call) => toMcpCall(call) ?? []);
    return { servers: Object.fromEntries(servers), calls };
  }

  #note(call: OpenCall | undefined): void {
    if (call === undefined || this.#notes === undefined) return;
    const ended = toMcpCall(call);
    if (ended === undefined) return;
    this.#unnoted.delete(call);
    this.#notes.called(ended);
  }

  #findLastCall(server: string): OpenCall | undefined {
    return this.#calls.findLast((call) => call.server === server);
  }

  #of(server: string): McpConnection[] {
    const connections = this.#connections.get(server) ?? [];
    this.#connections.set(server, connections);
    return connections;
  }
}

function toMcpCall(call: OpenCall): McpCall | undefined {
  if (call.end === undefined) return undefined;
  const { server, tool, arguments: args, toolsChanged, died, before, after } = call;
  const [asked, answered] = call.order;
  return {
    server,
    tool,
    arguments: args,
    ...call.end,
    ...(toolsChanged ? { tools_changed: true as const } : {}),
    ...(died === undefined ? {} : { server_died: died }),
    ...(before.length === 0 ? {} : { sent_before: before }),
    ...(after.length === 0 ? {} : { sent_after: after }),
    ...(asked === undefined || answered === undefined ? {} : { order: [asked, answered] as const }),
    duration_ms: Math.round(call.durationMs),
  };
}

/** The abort reason of a call that its caller canceled (see mcp-client/call.ts). */
const CANCELLED_BY_CALLER = 'cancelled by the caller';

export function recordingLink(recorder: CassetteRecorder): OpenLink {
  return async (config, options, signal, hooks) => {
    const server = config.name;
    let inner: ServerLink;
    let outer: ServerLink | undefined;
    try {
      inner = await openLink(config, options, signal, {
        onToolsChanged: () => {
          recorder.toolsChanged(server);
          hooks.onToolsChanged();
        },
        onLost: (link, cause) => {
          recorder.died(server, cause, link.stderr());
          if (outer !== undefined) hooks.onLost(outer, cause);
        },
      });
    } catch (error) {
      const why = signal.aborted
        ? notReadyWithin(options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS)
        : undefined;
      recorder.failed(server, unavailable(server, error, why, undefined).message);
      throw error;
    }
    const { session } = inner;
    const recording = recorder.opened(server, {
      sdk: session.sdk,
      protocol_version: session.protocolVersion ?? null,
      server_info: session.serverInfo ?? null,
      capabilities: session.capabilities,
      instructions: session.instructions ?? null,
    });
    outer = { ...inner, session: recordingSession(server, inner, recorder, recording) };
    return outer;
  };
}

function recordingSession(
  server: string,
  link: ServerLink,
  recorder: CassetteRecorder,
  recording: ConnectionRecording,
): McpSession {
  const { session } = link;
  const recorded = async (
    tool: string,
    args: JsonObject,
    { signal }: RequestControls,
    call: () => Promise<JsonObject>,
  ): Promise<JsonObject> => {
    const { ended } = recorder.called(server, tool, args);
    try {
      const result = await call();
      ended({ outcome: 'result', result });
      return result;
    } catch (thrown) {
      const error = findExpiry(session, thrown);
      const lost = link.lost();
      const refusal = session.protocolError(error);
      if (signal.aborted) {
        const message = String(signal.reason);
        ended({ outcome: message === CANCELLED_BY_CALLER ? 'cancelled' : 'timeout', message });
      } else if (lost === undefined && refusal !== undefined) {
        ended({ outcome: 'error', error: refusal });
      } else {
        const expired = error instanceof NeverRan ? { session_expired: true as const } : {};
        ended({ outcome: 'lost', message: lost ?? readReason(error), ...expired });
      }
      throw error;
    }
  };
  return {
    ...session,
    listTools: async (cursor, controls) => {
      try {
        const page = await session.listTools(cursor, controls);
        recording.listed(Array.isArray(page.tools) ? page.tools : [], cursor === undefined);
        return page;
      } catch (error) {
        // Many servers that say '' have no page behind it.
        if (cursor !== '')
          recording.failed(unavailable(server, error, link.lost(), { stderr: link.stderr() }).message);
        throw error;
      }
    },
    callTool: (tool, args, meta, controls) =>
      recorded(tool.name, args, controls, () => session.callTool(tool, args, meta, controls)),
    readResource: (uri, controls) =>
      recorded('resources/read', { uri }, controls, () => session.readResource(uri, controls)),
  };
}
