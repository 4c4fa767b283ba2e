import { isObject, type JsonObject, objectAt, stringAt } from '../../json/index.ts';
import { freeName, type McpCall, type Reached } from '../file/index.ts';
import type { CallRecording, CassetteRecorder } from '../record/index.ts';
import type { PassedMessage } from './traffic.ts';

type Recording = ReturnType<CassetteRecorder['opened']>;

/** A request of the client that waits for its answer. */
interface Open {
  readonly method: string;
  readonly call: CallRecording;
  /** Of a list with pages. */
  readonly isFirstPage: boolean;
}

/** A connection, once it is open. */
export interface OpenedConnection {
  recording?: Recording;
}

/** Names of the servers of a program, one for each way to reach one: a client may start a server more than once. */
export class ServerNames {
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #told: (server: string, reached: Reached) => void;

  /** @param told is given each name when it is first used. */
  constructor(told: (server: string, reached: Reached) => void) {
    this.#told = told;
  }

  of(reached: Reached): string {
    const key = JSON.stringify(reached);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const name = freeName(toName(reached), this.#taken);
    this.#taken.add(name);
    this.#names.set(key, name);
    this.#told(name, reached);
    return name;
  }
}

/** Records what passes between a program and one MCP server, message by message, over a carrier that numbers requests. */
export class ServerTap {
  readonly #recorder: CassetteRecorder;
  readonly #names: ServerNames;
  readonly #reached: Reached;
  readonly #open = new Map<string | number, Open>();
  readonly #progress = new Map<unknown, CallRecording>();
  readonly #connection: OpenedConnection;

  /** @param connection shared by the taps of one connection. */
  constructor(
    recorder: CassetteRecorder,
    names: ServerNames,
    reached: Reached,
    connection: OpenedConnection = {},
  ) {
    this.#recorder = recorder;
    this.#names = names;
    this.#reached = reached;
    this.#connection = connection;
  }

  client({ id, method, params }: PassedMessage): void {
    if (method === 'notifications/cancelled') this.cancelled(params);
    if (id === undefined || method === undefined || method === 'ping') return;
    const [tool, args] = calledBy(method, params);
    const call = this.#recorder.called(this.#server, tool, args);
    const token = objectAt(params, '_meta')?.progressToken;
    if (token !== undefined) this.#progress.set(token, call);
    this.#open.set(id, { method, call, isFirstPage: params?.cursor === undefined });
  }

  server(message: PassedMessage): void {
    const { id, method, result, error } = message;
    if (method !== undefined) {
      if (method === 'notifications/tools/list_changed') this.#recorder.toolsChanged(this.#server);
      else if (method !== 'ping') this.#sent(message);
      return;
    }
    const open = id === undefined ? undefined : this.#open.get(id);
    if (id === undefined || open === undefined) return;
    this.#open.delete(id);
    if (isObject(error)) {
      open.call.ended({ outcome: 'error', error: toError(error) });
      if (open.method === 'initialize') this.#recorder.failed(this.#server, toError(error).message);
      return;
    }
    const answer = isObject(result) ? result : {};
    open.call.ended({ outcome: 'result', result: answer });
    if (open.method === 'initialize' || open.method === 'server/discover') this.#opened(answer);
    if (open.method !== 'tools/list') return;
    if (this.#connection.recording === undefined) this.#opened({});
    const tools = Array.isArray(answer.tools) ? answer.tools : [];
    this.#connection.recording?.listed(tools, open.isFirstPage);
  }

  /** The server went away; the calls that are open get no answer. */
  lost(cause: string): void {
    if (this.#open.size === 0) return;
    for (const { call } of this.#open.values()) call.ended({ outcome: 'lost', message: cause });
    if (this.#connection.recording === undefined) this.#recorder.failed(this.#server, cause);
    this.#open.clear();
  }

  #sent(message: PassedMessage): void {
    const call = this.#progress.get(message.params?.progressToken);
    if (call === undefined) this.#recorder.sent(this.#server, withoutToken(message));
    else call.sent(withoutToken(message));
  }

  get #server(): string {
    return this.#names.of(this.#reached);
  }

  #opened(answer: JsonObject): void {
    const info = objectAt(answer, 'serverInfo');
    this.#connection.recording = this.#recorder.opened(this.#server, {
      protocol_version: stringAt(answer, 'protocolVersion') ?? null,
      server_info: info ?? null,
      capabilities: objectAt(answer, 'capabilities') ?? {},
      instructions: stringAt(answer, 'instructions') ?? null,
    });
  }

  /** The program gave up a request. */
  cancelled(params: JsonObject | undefined): void {
    const id = params?.requestId;
    if (typeof id !== 'string' && typeof id !== 'number') return;
    const open = this.#open.get(id);
    open?.call.ended({ outcome: 'cancelled', message: stringAt(params, 'reason') ?? 'cancelled' });
    this.#open.delete(id);
  }
}

/** What a golden calls a request: the tool it calls, else its method; and its arguments, without those of the transport. */
export function calledBy(method: string, params: JsonObject = {}): readonly [tool: string, args: JsonObject] {
  const { _meta: _, ...rest } = params;
  // Which client asks, and what it can do, is not what is asked.
  if (method === 'initialize') return [method, {}];
  if (method !== 'tools/call') return [method, rest];
  return [stringAt(params, 'name') ?? '', objectAt(params, 'arguments') ?? {}];
}

/** The client makes a new progress token for each request. */
function withoutToken(message: PassedMessage): JsonObject {
  const { progressToken: _, ...params } = message.params ?? {};
  const { method, id } = message;
  return { method, ...(id === undefined ? {} : { id }), params };
}

function toError(error: JsonObject): NonNullable<McpCall['error']> {
  const { code, message, data } = error;
  return {
    code: Number.isSafeInteger(code) ? (code as number) : -32603,
    message: typeof message === 'string' ? message : '',
    ...(data === undefined ? {} : { data }),
  };
}

/** A name for a server until it tells its own: the script or package it is started from, or its host. */
function toName(reached: Reached): string {
  if ('url' in reached) return URL.canParse(reached.url) ? new URL(reached.url).host : 'server';
  const script = reached.args.find((arg) => !arg.startsWith('-')) ?? reached.command;
  return (
    script
      .split(/[\\/]/)
      .at(-1)
      ?.replace(/\.[cm]?[jt]s$/, '') || 'server'
  );
}
