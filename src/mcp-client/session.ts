/** The two seams between this folder and the MCP SDKs of both generations: the transport below, the session above. */
import type { JsonObject } from '../json/index.ts';
import type { CallableTool, ServerRequestGuard, ServerRequestHandlers, ToolProgress } from './types.ts';

export type JsonRpcId = string | number;

/** One JSON-RPC 2.0 message, request, response or notification, as far as this folder looks into it. */
export interface JsonRpcMessage {
  readonly jsonrpc: '2.0';
  readonly id?: JsonRpcId | undefined;
  readonly method?: string | undefined;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined;
}

export interface TransportSendOptions {
  readonly onresumptiontoken?: ((token: string) => void) | undefined;
}

/**
 * The part of a transport that both SDKs use. When a client connects, it sets the callbacks; it keeps the earlier ones
 * and calls them first.
 */
export interface Transport {
  /** Of streamable HTTP, when the server has given one. */
  readonly sessionId?: string | undefined;
  start(): Promise<void>;
  send(message: JsonRpcMessage, options?: TransportSendOptions): Promise<void>;
  close(): Promise<void>;
  onmessage?: ((message: JsonRpcMessage, extra?: unknown) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

/** Our own timers bound each call. This disables those of the SDK: it is the longest a Node timer can be. */
export const NO_SDK_TIMEOUT_MS = 2 ** 31 - 1;

export interface RequestControls {
  /** A signal for this request alone, never the caller's: SDK v1 does not remove its listener. */
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: ToolProgress) => void) | undefined;
}

/** A connected client of either SDK generation, reduced to what is used here. Results are raw: no SDK checks them. */
export interface McpSession {
  readonly sdk: 'v1' | 'v2';
  readonly protocolVersion: string | undefined;
  readonly serverInfo: JsonObject | undefined;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
  /** The id that the server has given to a session over HTTP. */
  readonly sessionId?: (() => string | undefined) | undefined;
  /** One page of `tools/list`. */
  listTools(cursor: string | undefined, controls: RequestControls): Promise<JsonObject>;
  callTool(
    tool: CallableTool,
    args: JsonObject,
    meta: JsonObject | undefined,
    controls: RequestControls,
  ): Promise<JsonObject>;
  readResource(uri: string, controls: RequestControls): Promise<JsonObject>;
  /**
   * Reads a rejection of the methods above as a JSON-RPC error; undefined when it is none. The SDKs reject in the
   * same form when the connection ends or a signal fires, so check for those first.
   */
  protocolError(error: unknown): { code: number; message: string; data?: unknown } | undefined;
  /** True when the SDK refused an answer because of its form; only client v2 checks one. */
  readonly isInvalidResult?: ((error: unknown) => boolean) | undefined;
  close(): Promise<void>;
}

export interface SessionOptions {
  readonly server: string;
  readonly handlers: ServerRequestHandlers;
  readonly guard: ServerRequestGuard;
  readonly signal: AbortSignal;
  readonly onToolsChanged: () => void;
  readonly onClose: () => void;
  readonly onError: (error: Error) => void;
}

export type OpenSession = (transport: Transport, options: SessionOptions) => Promise<McpSession>;

/**
 * A result schema that accepts everything, in the forms of SDK v1 (`parse`, `safeParse`) and v2 (Standard Schema). The
 * schemas of the SDKs refuse a whole list because of one tool, and a whole answer because of one content block.
 */
export const ANY_RESULT = {
  parse: (data: unknown) => data,
  safeParse: (data: unknown) => ({ success: true, data }),
  '~standard': { version: 1, vendor: 'mcp-observatory', validate: (value: unknown) => ({ value }) },
};

/**
 * Sends a request through the `request` method of an SDK client of either generation and resolves with the raw result.
 * Unlike `listTools` and `callTool` of the clients it checks and compiles no schema of the server.
 */
export function rawRequest(
  client: object,
  method: string,
  params: JsonObject,
  controls: RequestControls,
): Promise<JsonObject> {
  const options = {
    signal: controls.signal,
    timeout: NO_SDK_TIMEOUT_MS,
    ...(controls.onProgress && { onprogress: controls.onProgress }),
  };
  return requestWith(client, method, params, options);
}

function requestWith(
  client: object,
  method: string,
  params: JsonObject,
  options: unknown,
): Promise<JsonObject> {
  const { request } = client as { request: (...args: unknown[]) => Promise<JsonObject> };
  return request.call(client, { method, params }, ANY_RESULT, options);
}

/**
 * Sends `tools/call` through a client that a host made, with the host's own request options. `callTool` of SDK v1 would
 * check the result by a validator without bounds: 28 characters and `^(a+)+$` hold the event loop for seconds.
 */
export function requestToolCall(
  client: object,
  name: string,
  args: JsonObject,
  options: unknown,
): Promise<JsonObject> {
  return requestWith(client, 'tools/call', { name, arguments: args }, options);
}

/**
 * A client of SDK v2 whose `callTool` hands on what the server sent: the check of results by the SDK would lose a whole
 * answer for one content block of an unknown type. The client itself stays as it is.
 */
export function withRawResults<C extends object>(client: C): C {
  const { request } = client as unknown as { request: (...args: unknown[]) => Promise<JsonObject> };
  const value = (message: { method: string }, ...rest: unknown[]) =>
    message.method === 'tools/call'
      ? request.call(client, message, ANY_RESULT, rest.at(-1))
      : request.call(client, message, ...rest);
  return Object.create(client, { request: { value } }) as C;
}

/** Sends `tools/list` for one page; see {@link rawRequest}. */
export function requestToolPage(
  client: object,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<JsonObject> {
  return rawRequest(client, 'tools/list', cursor === undefined ? {} : { cursor }, { signal });
}

/** The capabilities a client announces: only those it has a handler for. */
export function readCapabilities(handlers: ServerRequestHandlers) {
  return {
    ...(handlers.onElicitation && { elicitation: { form: { applyDefaults: true }, url: {} } }),
    ...(handlers.onSampling && { sampling: {} }),
    ...(handlers.roots && { roots: {} }),
  };
}

/** A request of a server that there is a handler for, and its answer, in the form of either SDK. */
interface AnsweredRequest {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  answer(params: JsonObject | undefined, signal: AbortSignal): Promise<never>;
}

/** The requests of a server that a client answers, each through the guard. The SDKs check the form of the answers. */
export function answeredRequests({ handlers, guard, server }: SessionOptions): readonly AnsweredRequest[] {
  const { onElicitation, onSampling, roots } = handlers;
  const guarded = (
    method: AnsweredRequest['method'],
    answer: NonNullable<ServerRequestHandlers['onElicitation' | 'onSampling']>,
  ): AnsweredRequest => ({
    method,
    answer: (given = {}, signal) => {
      // A decision about a list of roots is for any: all that is in its parameters is metadata of the request.
      const params = method === 'roots/list' ? {} : given;
      const answered = guard(server, method, params, async () => ({
        ...(await answer(params, { server, signal })),
      }));
      return answered as Promise<never>;
    },
  });
  return [
    ...(onElicitation ? [guarded('elicitation/create', onElicitation)] : []),
    ...(onSampling ? [guarded('sampling/createMessage', onSampling)] : []),
    ...(roots ? [guarded('roots/list', () => ({ roots: [...roots] }))] : []),
  ];
}
