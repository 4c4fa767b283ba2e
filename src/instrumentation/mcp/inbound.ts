/** Messages coming in: SERVER spans for requests and notifications, progress and cancellation of what is under way. */
import type { Context } from '@opentelemetry/api';
import { connectionOn, protocolVersionFor } from './connection.ts';
import type { McpMessage, MessageExtra, ProtocolLike } from './internal-types.ts';
import { CANCELLED, PROGRESS } from './methods.ts';
import { Operation } from './operation.ts';
import { CANCELLED_OUTCOME } from './outcome.ts';
import { incomingContext } from './propagation.ts';
import { besideTask, findTaskId, learnOfTask } from './tasks.ts';
import type { Telemetry } from './telemetry.ts';

/** Registered, so that all copies of this package in a process share it: a program may have bundled one. */
const STDIO_HOOKED = Symbol.for('mcp-observatory stdio is hooked');
const HTTP_HOOKED = Symbol.for('mcp-observatory http is hooked');

/** Whether a hook of the SDK has met a request to a server on this process's stdin and stdout. */
export const isStdioHooked = (): boolean => Reflect.has(globalThis, STDIO_HOOKED);
/** Whether a hook of the SDK has met a request to a server over HTTP. */
export const isHttpHooked = (): boolean => Reflect.has(globalThis, HTTP_HOOKED);

/** Notes that a hook sees what the server on a transport is asked. */
export function noteHooked(telemetry: Telemetry, { _transport: transport }: ProtocolLike): void {
  if (transport === undefined || (isStdioHooked() && isHttpHooked())) return;
  // A client is asked on a transport of its own.
  if ('_serverParams' in transport || '_url' in transport) return;
  const { transport: kind } = connectionOn(transport, telemetry).facts.peer;
  // A transport that is not the SDK's may be on either.
  const isUnknown = kind === 'unknown';
  if (kind === 'stdio' || isUnknown) Reflect.set(globalThis, STDIO_HOOKED, true);
  if (kind === 'http' || kind === 'sse' || isUnknown) Reflect.set(globalThis, HTTP_HOOKED, true);
}

/**
 * Begins the SERVER span of a request; it ends with the answer at the transport.
 * @param arrivedAt when it came, by `Date.now()`. @defaultValue now
 */
export function receiveRequest(
  telemetry: Telemetry,
  protocol: ProtocolLike,
  message: McpMessage,
  extra: MessageExtra | undefined,
  arrivedAt?: number,
): Operation | undefined {
  const transport = protocol._transport;
  if (transport === undefined || typeof message.method !== 'string') return undefined;
  const connection = connectionOn(transport, telemetry);
  const place = incomingContext(message, connection.propagation);
  connection.receive(protocol, message, extra, place.parent);
  return new Operation({
    side: 'server',
    taskId: findTaskId(message),
    connection,
    message: message as McpMessage & { method: string },
    id: message.id ?? undefined,
    arrivedAt,
    place: besideTask(connection, 'server', message, place),
    protocolVersion: protocolVersionFor(connection, message, extra),
  }).track(connection.received);
}

export interface IncomingNotification {
  readonly context: Context;
  /** Absent when the notification shows on the span of the request it is about. */
  readonly operation?: Operation | undefined;
}

export function receiveNotification(
  telemetry: Telemetry,
  protocol: ProtocolLike,
  message: McpMessage,
  extra: MessageExtra | undefined,
): IncomingNotification | undefined {
  const transport = protocol._transport;
  if (transport === undefined || typeof message.method !== 'string') return undefined;
  const connection = connectionOn(transport, telemetry);
  const { method, params } = message;
  if (method === PROGRESS) {
    // The SDK takes the request's id for its token, unless the caller brought one.
    const about =
      connection.sent.withToken(params?.progressToken) ?? connection.sent.get(params?.progressToken);
    if (about !== undefined) {
      about.progress(params ?? {});
      return { context: about.context };
    }
  }
  const place = incomingContext(message, connection.propagation);
  connection.receive(protocol, message, extra, place.parent);
  const operation = new Operation({
    side: 'server',
    taskId: findTaskId(message),
    connection,
    message: message as McpMessage & { method: string },
    place: besideTask(connection, 'client', message, place),
    protocolVersion: protocolVersionFor(connection, message, extra),
  });
  learnOfTask(connection, 'client', message, { result: params });
  // A cancelled request is never answered: this is its end.
  if (method === CANCELLED) connection.received.get(params?.requestId)?.end(CANCELLED_OUTCOME);
  return { context: operation.context, operation };
}
