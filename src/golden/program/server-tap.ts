import { isObject, type JsonObject, objectAt, stringAt } from '../../json/index.ts';
import { freeName, type McpCall, type Reached } from '../file/index.ts';
import type { CallRecording, CassetteRecorder } from '../record/index.ts';
import type { PassedMessage } from './traffic.ts';

type Recording = ReturnType<CassetteRecorder['opened']>;

/** A request of the client that waits for its answer. */
type Open =
  | { readonly is: 'initialize' }
  | { readonly is: 'list'; readonly isFirstPage: boolean }
  | { readonly is: 'call'; readonly call: CallRecording; readonly isDiscovery: boolean };

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

/** Records what passes between a program and one MCP server, message by message, over whatever carries it. */
export class ServerTap {
  readonly #recorder: CassetteRecorder;
  readonly #names: ServerNames;
  readonly #reached: Reached;
  readonly #open = new Map<string | number, Open>();
  readonly #progress = new Map<unknown, CallRecording>();
  #recording: Recording | undefined;

  constructor(recorder: CassetteRecorder, names: ServerNames, reached: Reached) {
    this.#recorder = recorder;
    this.#names = names;
    this.#reached = reached;
  }

  client({ id, method, params }: PassedMessage): void {
    if (method === 'notifications/cancelled') this.#cancelled(params);
    if (id === undefined || method === undefined) return;
    if (method === 'initialize') this.#open.set(id, { is: 'initialize' });
    else if (method === 'tools/list')
      this.#open.set(id, { is: 'list', isFirstPage: params?.cursor === undefined });
    else if (method !== 'ping') {
      const [tool, args] = calledBy(method, params);
      const call = this.#recorder.called(this.#server, tool, args);
      const token = objectAt(params, '_meta')?.progressToken;
      if (token !== undefined) this.#progress.set(token, call);
      this.#open.set(id, { is: 'call', call, isDiscovery: method === 'server/discover' });
    }
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
    const answer = isObject(result) ? result : {};
    if (open.is === 'call') {
      open.call.ended(
        isObject(error) ? { outcome: 'error', error: toError(error) } : { outcome: 'result', result: answer },
      );
      if (open.isDiscovery && !isObject(error)) this.#opened(answer);
    } else if (isObject(error)) {
      if (open.is === 'initialize') this.#recorder.failed(this.#server, toError(error).message);
    } else if (open.is === 'initialize') this.#opened(answer);
    else {
      if (this.#recording === undefined) this.#opened({});
      this.#recording?.listed(Array.isArray(answer.tools) ? answer.tools : [], open.isFirstPage);
    }
  }

  /** The server went away; the calls that are open get no answer. */
  lost(cause: string): void {
    if (this.#open.size === 0) return;
    const calls = [...this.#open.values()].filter((open) => open.is === 'call');
    for (const { call } of calls) call.ended({ outcome: 'lost', message: cause });
    if (calls.length > 0) this.#recorder.died(this.#server, cause, '');
    else if (this.#recording === undefined) this.#recorder.failed(this.#server, cause);
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
    this.#recording = this.#recorder.opened(this.#server, {
      protocol_version: stringAt(answer, 'protocolVersion') ?? null,
      server_info: info ?? null,
      capabilities: objectAt(answer, 'capabilities') ?? {},
      instructions: stringAt(answer, 'instructions') ?? null,
    });
  }

  #cancelled(params: JsonObject | undefined): void {
    const id = params?.requestId;
    if (typeof id !== 'string' && typeof id !== 'number') return;
    const open = this.#open.get(id);
    if (open?.is !== 'call') return;
    open.call.ended({ outcome: 'cancelled', message: stringAt(params, 'reason') ?? 'cancelled' });
    this.#open.delete(id);
  }
}

/** What a golden calls a request: the tool it calls, else its method; and its arguments, without those of the transport. */
export function calledBy(method: string, params: JsonObject = {}): readonly [tool: string, args: JsonObject] {
  const { _meta: _, ...rest } = params;
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
