/** Messages coming in: SERVER spans for requests and notifications, progress and cancellation of what is under way. */
import type { Context } from '@opentelemetry/api';
import { connectionOn, protocolVersionFor } from './connection.ts';
import type { McpMessage, McpTelemetry, MessageExtra, ProtocolLike } from './internal-types.ts';
import { CANCELLED, PROGRESS } from './methods.ts';
import { Operation } from './operation.ts';
import { CANCELLED_OUTCOME } from './outcome.ts';
import { incomingContext } from './propagation.ts';

/** Begins the SERVER span of a request; it ends with the answer at the transport. */
export function receiveRequest(
  telemetry: McpTelemetry,
  protocol: ProtocolLike,
  message: McpMessage,
  extra: MessageExtra | undefined,
): Operation | undefined {
  const transport = protocol._transport;
  if (transport === undefined || typeof message.method !== 'string') return undefined;
  const connection = connectionOn(transport, telemetry);
  const { parent, links } = incomingContext(message, connection.propagation);
  return new Operation({
    side: 'server',
    connection,
    message: message as McpMessage & { method: string },
    id: message.id ?? undefined,
    parent,
    links,
    protocolVersion: protocolVersionFor(connection, message, extra),
  }).track(connection.received);
}

export interface IncomingNotification {
  readonly context: Context;
  /** Absent when the notification shows on the span of the request it is about. */
  readonly operation?: Operation | undefined;
}

export function receiveNotification(
  telemetry: McpTelemetry,
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
  const { parent, links } = incomingContext(message, connection.propagation);
  const operation = new Operation({
    side: 'server',
    connection,
    message: message as McpMessage & { method: string },
    parent,
    links,
    protocolVersion: protocolVersionFor(connection, message, extra),
  });
  // A cancelled request is never answered: this is its end.
  if (method === CANCELLED) connection.received.get(params?.requestId)?.end(CANCELLED_OUTCOME);
  return { context: operation.context, operation };
}
