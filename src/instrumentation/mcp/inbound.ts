/** Messages coming in: SERVER spans for requests and notifications, progress and cancellation of what is under way. */
import type { Context } from '@opentelemetry/api';
import { connectionOn, protocolVersionFor } from './connection.ts';
import type { McpMessage, MessageExtra, ProtocolLike } from './internal-types.ts';
import { CANCELLED, PROGRESS } from './methods.ts';
import { Operation } from './operation.ts';
import { CANCELLED_OUTCOME } from './outcome.ts';
import { incomingContext } from './propagation.ts';
import { besideTask, learnOfTask, taskIdOf } from './tasks.ts';
import type { Telemetry } from './telemetry.ts';

/** Begins the SERVER span of a request; it ends with the answer at the transport. */
export function receiveRequest(
  telemetry: Telemetry,
  protocol: ProtocolLike,
  message: McpMessage,
  extra: MessageExtra | undefined,
): Operation | undefined {
  const transport = protocol._transport;
  if (transport === undefined || typeof message.method !== 'string') return undefined;
  const connection = connectionOn(transport, telemetry);
  const place = incomingContext(message, connection.propagation);
  connection.receive(protocol, message, extra, place.parent);
  return new Operation({
    side: 'server',
    taskId: taskIdOf(message),
    connection,
    message: message as McpMessage & { method: string },
    id: message.id ?? undefined,
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
    taskId: taskIdOf(message),
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
