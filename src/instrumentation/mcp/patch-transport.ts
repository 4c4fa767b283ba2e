/** The patches on a transport's class: `send`, and the entry points of Node HTTP transports. */
import { context } from '@opentelemetry/api';
import { HTTP_CLIENT_KEY } from './connection.ts';
import type { McpMessage, TransportLike } from './internal-types.ts';
import type { Operation } from './operation.ts';
import type { HttpClient } from './operation-span.ts';
import { beginSend } from './outbound.ts';
import { outcomeOfError, outcomeOfResult } from './outcome.ts';
import { type Around, findOwner, type Method, patchMethod } from './patch-method.ts';
import { withHeaderContext } from './propagation.ts';
import type { Telemetry } from './telemetry.ts';

/** Transports whose class has been looked at. */
const hooked = new WeakMap<object, Telemetry>();

/** Patches the class of a transport, not the object: it stays as its owner made it, frozen ones included. */
export function hookTransport(transport: TransportLike | undefined, telemetry: Telemetry): void {
  if (typeof transport !== 'object' || transport === null || hooked.get(transport) === telemetry) return;
  hooked.set(transport, telemetry);
  patchOwner(transport, 'send', telemetry, patchedSend);
  for (const entry of ['handleRequest', 'handlePostMessage'])
    patchOwner(transport, entry, telemetry, patchedEntry);
}

function patchOwner(transport: object, name: string, telemetry: Telemetry, around: Around): void {
  const owner = findOwner(transport, name);
  if (owner !== undefined) patchMethod(owner, name, telemetry, around);
}

function patchedSend(self: unknown, args: unknown[], original: Method, telemetry: Telemetry): unknown {
  const { guard } = telemetry;
  const outgoing = guard.run('mcp.send', () =>
    beginSend(telemetry, self as TransportLike, args[0] as McpMessage),
  );
  if (outgoing === undefined) return original.apply(self, args);
  const { operation, request } = outgoing;
  const sending = [outgoing.message, ...args.slice(1)];
  const send = () => guard.call('mcp.send.call', outgoing.context, original, self, sending);
  if (request !== undefined) return failing(telemetry, request, send);
  if (operation === undefined) return send();
  return watched(telemetry, operation, send);
}

/** Runs the sending; a request that cannot be sent has no answer to wait for. */
function failing({ guard }: Telemetry, request: Operation, send: () => unknown): unknown {
  const sent = send();
  guard.observe(
    'mcp.send.fail',
    sent,
    () => {},
    (error) => request.end(outcomeOfError(error, undefined)),
  );
  return sent;
}

/** Runs the sending; the notification is over when the transport has taken it. */
function watched(telemetry: Telemetry, operation: Operation, send: () => unknown): unknown {
  const { guard } = telemetry;
  let sent: unknown;
  try {
    sent = send();
  } catch (error) {
    guard.run('mcp.send.end', () => operation.end(outcomeOfError(error, undefined)));
    throw error;
  }
  guard.observe(
    'mcp.send.end',
    sent,
    () => operation.end(outcomeOfResult(operation.method, undefined)),
    (error) => operation.end(outcomeOfError(error, undefined)),
  );
  return sent;
}

/** `handleRequest(req, res, body)` with Node's request object: who sent it stays known while it is handled. */
function patchedEntry(self: unknown, args: unknown[], original: Method, telemetry: Telemetry): unknown {
  const { guard } = telemetry;
  const active = guard.run('mcp.http', () => {
    const client = readHttpClient(args[0]);
    if (client === undefined) return undefined;
    return withHeaderContext(context.active().setValue(HTTP_CLIENT_KEY, client), client.headers ?? {});
  });
  if (active === undefined) return original.apply(self, args);
  return guard.call('mcp.http.call', active, original, self, args);
}

export function readHttpClient(request: unknown): HttpClient | undefined {
  const { socket, httpVersion, headers } = (request ?? {}) as {
    readonly headers?: HttpClient['headers'];
    readonly socket?: { readonly remoteAddress?: unknown; readonly remotePort?: unknown };
    readonly httpVersion?: unknown;
  };
  if (socket === undefined || socket === null) return undefined;
  return {
    address: typeof socket.remoteAddress === 'string' ? socket.remoteAddress : undefined,
    port: typeof socket.remotePort === 'number' ? socket.remotePort : undefined,
    httpVersion: typeof httpVersion === 'string' ? httpVersion : undefined,
    headers: typeof headers === 'object' && headers !== null ? headers : undefined,
  };
}
