/** Messages on their way out: requests where the SDK makes them, everything else where the transport sends it. */
import { type Context, type Span, trace } from '@opentelemetry/api';
import { semconv } from '../../base/index.ts';
import { noteListedTools } from '../../interaction/index.ts';
import { listAt } from '../../json/index.ts';
import { askedCall, callContext, findAttributes } from '../shared/index.ts';
import { asProtocolVersion, type Connection, connectionOn, protocolVersionFor } from './connection.ts';
import { ATTR_SERVER_NAME } from './identity.ts';
import type { McpMessage, McpRequestOptions, ProtocolLike, TransportLike } from './internal-types.ts';
import { CANCELLED, INITIALIZE, LISTEN, PROGRESS, readName, TOOLS_CALL, TOOLS_LIST } from './methods.ts';
import { Operation } from './operation.ts';
import {
  LOST_OUTCOME,
  outcomeOfError,
  outcomeOfResponse,
  outcomeOfResult,
  type RequestOutcome,
} from './outcome.ts';
import { type SpanPlace, withTraceContext } from './propagation.ts';
import { beginTask, besideTask, findTaskId, learnOfTask } from './tasks.ts';
import type { Telemetry } from './telemetry.ts';
import type { OpenRequest } from './under-way.ts';

export interface OutgoingRequest {
  readonly operation: Operation;
  /** What to hand to the SDK in place of the caller's request. */
  readonly request: McpMessage;
}

/** Begins the CLIENT span of a request; `undefined` for a request the SDK is going to refuse. */
export function beginRequest(
  telemetry: Telemetry,
  protocol: ProtocolLike,
  request: McpMessage,
): OutgoingRequest | undefined {
  const transport = protocol._transport;
  if (transport === undefined || typeof request?.method !== 'string') return undefined;
  const connection = connectionOn(transport, telemetry);
  adoptNegotiated(connection, protocol);
  connection.identity.readProtocol(protocol);
  const parent = callContext();
  const operation = new Operation({
    side: 'client',
    taskId: findTaskId(request),
    connection,
    message: request as McpMessage & { method: string },
    id: protocol._requestMessageId,
    place:
      askedByModel(parent, request) ??
      besideTask(connection, 'client', request, { parent, links: undefined }),
    protocolVersion: protocolVersionFor(connection, request, undefined),
    outer: outerToolSpan(parent, request),
  }).track(connection.sent);
  operation.request = withTraceContext(request, operation.context, connection.propagation);
  return { operation, request: operation.request };
}

function askedByModel(parent: Context, { method, params }: McpMessage): SpanPlace | undefined {
  return method === TOOLS_CALL ? askedCall(parent, params?.name, params?.arguments) : undefined;
}

/** From 2026-07-28 on there is no `initialize` to learn the version from; clients of that era know it by themselves. */
const FIRST_WITHOUT_HANDSHAKE = '2026-07-28';

function adoptNegotiated(connection: Connection, protocol: ProtocolLike): void {
  if (connection.protocolVersion !== undefined) return;
  const version = asProtocolVersion(protocol._negotiatedProtocolVersion);
  if (version === undefined || version < FIRST_WITHOUT_HANDSHAKE) return;
  connection.protocolVersion = version;
  connection.beginSession('client', performance.now());
}

/** The request that is being answered in rounds (v2's `input_required`): its further rounds are its children. */
export function requestInRounds(connection: Connection, request: unknown): OpenRequest | undefined {
  for (const operation of connection.sent) if (operation.request === request) return operation;
  return undefined;
}

export function endRequest(operation: Operation, result: unknown): void {
  const { connection } = operation;
  connection.identity.readResult(operation.method, result);
  if (operation.method === INITIALIZE) {
    const version = asProtocolVersion((result as { protocolVersion?: unknown } | undefined)?.protocolVersion);
    if (version !== undefined) {
      connection.protocolVersion = version;
      operation.negotiated(version);
    }
    connection.beginSession('client', operation.startedAt);
  }
  if (operation.method === TOOLS_LIST) noteListed(connection, result);
  if (beginTask(connection, operation, 'client', result)) return;
  learnOfTask(connection, 'client', operation.message, { result });
  operation.end(outcomeOfResult(operation.method, result));
}

/** Model calls that offer these tools name their server. */
function noteListed({ identity }: Connection, result: unknown): void {
  const server = identity.attributes[ATTR_SERVER_NAME];
  if (server !== undefined) noteListedTools(server, listAt(result, 'tools'));
}

export function failRequest(
  operation: Operation,
  error: unknown,
  options: McpRequestOptions | undefined,
): void {
  const outcome = outcomeOfError(error, options);
  if (operation.method === INITIALIZE) {
    operation.connection.beginSession('client', operation.startedAt);
    operation.connection.failSession(outcome.errorType);
  }
  operation.end(outcome);
}

export interface OutgoingMessage {
  readonly message: McpMessage;
  readonly context: Context;
  /** Ends when the message has been handed over; absent when the message has no span of its own. */
  readonly operation?: Operation | undefined;
  /** Ends with its answer, or when the message cannot be handed over. */
  readonly request?: Operation | undefined;
}

/** The SDK is inside its own `request`: what it sends before that returns has its span. */
let requesting = false;

export function whileRequesting<T>(request: () => T): T {
  requesting = true;
  try {
    return request();
  } finally {
    requesting = false;
  }
}

/**
 * Messages that have their span: a transport may send once more what it was given (after a 401, say), or hand it to
 * a transport inside itself.
 */
const seen = new WeakSet<object>();

/** A message at the transport: notifications, answers, and the requests the SDK sends past its own `request`. */
export function beginSend(
  telemetry: Telemetry,
  transport: TransportLike,
  message: McpMessage,
): OutgoingMessage | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const { method, id } = message;
  const isRequest = id !== undefined && id !== null;
  if (isRequest && requesting && typeof method === 'string') return undefined;
  const connection = connectionOn(transport, telemetry);
  if (typeof method !== 'string') {
    answerRequest(connection, message);
    return undefined;
  }
  if (isRequest && connection.sent.get(id) !== undefined) return undefined;
  if (seen.has(message) || carriesItsSpan(message)) return undefined;
  const named = message as McpMessage & { method: string };
  const outgoing = isRequest ? requestPastProtocol(connection, transport, named) : notify(connection, named);
  if (outgoing !== undefined) seen.add(outgoing.message);
  return outgoing;
}

/** A transport around another one may hand on a copy: in the context of the message's span, which the copy names. */
function carriesItsSpan(message: McpMessage): boolean {
  const carried = message.params?._meta?.traceparent;
  if (typeof carried !== 'string') return false;
  const span = trace.getActiveSpan();
  return (
    span !== undefined &&
    findAttributes(span)?.[semconv.ATTR_MCP_METHOD_NAME] === message.method &&
    carried.includes(span.spanContext().spanId)
  );
}

const CLOSED_BY_US: RequestOutcome = {};

function notify(
  connection: Connection,
  message: McpMessage & { method: string },
): OutgoingMessage | undefined {
  const { method, params } = message;
  if (method === PROGRESS) {
    // It belongs to its request by its token, so it needs no context of its own, and `onprogress` callbacks, which are
    // handed the whole of its params, get what they got before.
    const about = connection.received.withToken(params?.progressToken);
    if (about !== undefined) {
      about.progress(params ?? {});
      return undefined;
    }
  }
  // A cancellation belongs to the trace of what it cancels, wherever it was called for.
  const cancelled = method === CANCELLED ? connection.sent.get(params?.requestId) : undefined;
  const operation = new Operation({
    side: 'client',
    taskId: findTaskId(message),
    connection,
    message,
    place: besideTask(connection, 'server', message, {
      parent: cancelled?.context ?? callContext(),
      links: undefined,
    }),
    protocolVersion: protocolVersionFor(connection, message, undefined),
  });
  learnOfTask(connection, 'server', message, { result: params });
  // A subscription has no other end than this, and it is no failure.
  if (cancelled?.method === LISTEN) cancelled.end(CLOSED_BY_US);
  return {
    message: withTraceContext(message, operation.context, connection.propagation),
    context: operation.context,
    operation,
  };
}

/** The answer to a request of the other side ends its SERVER span. */
export function answerRequest(connection: Connection, message: McpMessage): void {
  const operation = connection.received.get(message.id);
  if (operation === undefined) return;
  connection.identity.readResult(operation.method, message.result);
  if (operation.method === INITIALIZE && message.error === undefined) {
    const { protocolVersion } = (message.result ?? {}) as { protocolVersion?: unknown };
    const version = asProtocolVersion(protocolVersion);
    if (version !== undefined) {
      connection.protocolVersion = version;
      operation.negotiated(version);
    }
    connection.beginSession('server', operation.startedAt);
  }
  if (message.error === undefined && beginTask(connection, operation, 'server', message.result)) return;
  learnOfTask(connection, 'server', operation.message, message);
  operation.end(outcomeOfResponse(operation.method, message));
}

/** Answers that are waited for on a transport, and who listens to it besides. */
interface Watch {
  readonly waiting: Map<unknown, Operation>;
  listener: TransportLike['onmessage'];
  readonly onmessage: NonNullable<TransportLike['onmessage']>;
}

const watches = new WeakMap<TransportLike, Watch>();

/**
 * v2 sends its `server/discover` probe and `subscriptions/listen` straight to the transport, and other clients all they
 * send. The answers are seen by a listener before the current one, as long as there are any to come.
 */
function requestPastProtocol(
  connection: Connection,
  transport: TransportLike,
  message: McpMessage & { method: string },
): OutgoingMessage {
  connection.identity.readRequest(message);
  const parent = callContext();
  const operation = new Operation({
    side: 'client',
    connection,
    message,
    id: message.id ?? undefined,
    place: askedByModel(parent, message) ?? { parent, links: undefined },
    protocolVersion: protocolVersionFor(connection, message, undefined),
    outer: outerToolSpan(parent, message),
  }).track(connection.sent);
  watchAnswer(connection, transport, message.id, operation);
  const outgoing = withTraceContext(message, operation.context, connection.propagation);
  return { message: outgoing, context: operation.context, request: operation };
}

function watchAnswer(
  connection: Connection,
  transport: TransportLike,
  id: unknown,
  operation: Operation,
): void {
  let watch = watches.get(transport);
  if (watch === undefined) {
    watch = newWatch(connection, transport);
    watches.set(transport, watch);
  }
  watch.waiting.set(id, operation);
  const { onmessage } = transport;
  if (onmessage === undefined || onmessage === watch.onmessage) return;
  watch.listener = onmessage;
  transport.onmessage = watch.onmessage;
}

function newWatch(connection: Connection, transport: TransportLike): Watch {
  const { guard } = connection.telemetry;
  const watch: Watch = {
    waiting: new Map(),
    listener: undefined,
    onmessage(this: unknown, ...args) {
      guard.run('mcp.answer', () => {
        const response = args[0] as McpMessage | undefined;
        const operation = response?.method === undefined ? watch.waiting.get(response?.id) : undefined;
        if (response === undefined || operation === undefined) return;
        watch.waiting.delete(response.id);
        if (watch.waiting.size === 0 && transport.onmessage === watch.onmessage)
          transport.onmessage = watch.listener;
        if (response.error === undefined) endRequest(operation, response.result);
        else operation.end(outcomeOfResponse(operation.method, response));
      });
      return watch.listener?.apply(this, args);
    },
  };
  return watch;
}

/** A probe that was never answered ends when the connection is opened. */
export function endProbes(connection: Connection): void {
  connection.sent.endAll(LOST_OUTCOME);
}

/**
 * The active span, when it is an agent framework's `execute_tool` span for this very call: one call, one span. Spans
 * of our own (a server whose handler calls a tool of the same name elsewhere) name an MCP method already.
 */
function outerToolSpan(parent: Context, request: McpMessage): Span | undefined {
  if (request.method !== TOOLS_CALL) return undefined;
  const span = trace.getSpan(parent);
  const attributes = findAttributes(span);
  if (span === undefined || attributes === undefined || !span.isRecording()) return undefined;
  const isOuter =
    attributes[semconv.ATTR_GEN_AI_OPERATION_NAME] === semconv.GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL &&
    attributes[semconv.ATTR_GEN_AI_TOOL_NAME] === readName(request.params?.name) &&
    attributes[semconv.ATTR_MCP_METHOD_NAME] === undefined;
  return isOuter ? span : undefined;
}
