/**
 * The patches on the SDK's `Protocol` class and its subclasses. v1 has one such class per module format, v2 one per
 * package and format; each is patched where it is met.
 *
 * Every patch has the same form: our own work runs in the guard; the original is called exactly once, with the caller's `this`; its promise is handed back as it is. One trade follows from that last
 * point: a rejected promise of a bare `protocol.request(...)` that nobody handles no longer reaches
 * `unhandledRejection`, for we have handled it. The verbs (`callTool`, `listTools`, ...) have promises of their own.
 */
import { connectionOn } from './connection.ts';
import { watchRequest } from './failure.ts';
import { noteHooked, receiveNotification, receiveRequest } from './inbound.ts';
import type {
  McpMessage,
  McpRequestOptions,
  MessageExtra,
  ProtocolLike,
  TransportLike,
} from './internal-types.ts';
import {
  beginRequest,
  endProbes,
  endRequest,
  failRequest,
  requestInRounds,
  whileRequesting,
} from './outbound.ts';
import { CLOSED_OUTCOME, outcomeOfError } from './outcome.ts';
import { type Around, findOwner, isPatched, type Method, patchMethod } from './patch-method.ts';
import { hookTransport } from './patch-transport.ts';
import type { Telemetry } from './telemetry.ts';
import { watchHandler } from './watch-handler.ts';

/** v2's funnel for all requests; its `request` is only one way in. */
const V2_REQUEST = '_requestWithSchemaViaCodec';

/** Names of methods: those replaced now, and those the protocol's root class should have and has not. */
export interface PatchedMethods {
  readonly patched: readonly string[];
  readonly missing: readonly string[];
}

/** Patches a class of the SDK, given its prototype or an instance. */
export function patchProtocol(start: object, telemetry: Telemetry): PatchedMethods {
  const root = findOwner(start, '_onrequest');
  if (root === undefined) return { patched: [], missing: ['_onrequest'] };
  const patched: string[] = [];
  const patch = (owner: object, name: string, around: Around) => {
    if (patchMethod(owner, name, telemetry, around)) patched.push(`${owner.constructor.name}.${name}`);
  };
  const request = Object.hasOwn(root, V2_REQUEST) ? V2_REQUEST : 'request';
  const at = request === V2_REQUEST ? 1 : 0;
  patch(root, '_onrequest', patchedOnRequest);
  patch(root, request, (self, args, original, current) => patchedRequest(self, args, original, current, at));
  // Subclasses override these and call `super`; both levels are patched, and the inner one does nothing.
  for (let owner = start; ; owner = Object.getPrototypeOf(owner) as object) {
    patch(owner, 'connect', patchedConnect);
    patch(owner, '_onnotification', patchedOnNotification);
    patch(owner, '_onclose', patchedOnClose);
    patch(owner, '_resolveNonCompleteResult', patchedRounds);
    if (owner === root) break;
  }
  const needed = [request, 'connect', '_onnotification', '_onclose'];
  return { patched, missing: needed.filter((name) => !isPatched(root, name)) };
}

/** v1 `request(request, schema, options)`, v2 `_requestWithSchemaViaCodec(codec, request, schema, options)`. */
function patchedRequest(
  self: unknown,
  args: unknown[],
  original: Method,
  telemetry: Telemetry,
  at: 0 | 1,
): unknown {
  const { guard } = telemetry;
  const begun = guard.run('mcp.request', () => {
    hookTransport((self as ProtocolLike)._transport, telemetry);
    return beginRequest(telemetry, self as ProtocolLike, args[at] as McpMessage);
  });
  if (begun === undefined) return original.apply(self, args);
  const { operation } = begun;
  const options = args[at + 2] as McpRequestOptions | undefined;
  const calling = args.slice();
  calling[at] = begun.request;
  let promise: unknown;
  try {
    promise = whileRequesting(() =>
      guard.call('mcp.request.call', operation.context, original, self, calling),
    );
  } catch (error) {
    guard.run('mcp.request.end', () => failRequest(operation, error, options));
    throw error;
  }
  guard.observe(
    'mcp.request.end',
    promise,
    (result) => endRequest(operation, result),
    (error) => failRequest(operation, error, options),
  );
  return promise;
}

function patchedOnRequest(self: unknown, args: unknown[], original: Method, telemetry: Telemetry): unknown {
  const { guard } = telemetry;
  const operation = guard.run('mcp.receive', () => {
    hookTransport((self as ProtocolLike)._transport, telemetry);
    noteHooked(telemetry, self as ProtocolLike);
    return receiveRequest(telemetry, self as ProtocolLike, args[0] as McpMessage, args[1] as MessageExtra);
  });
  if (operation === undefined) return original.apply(self, args);
  try {
    return watchRequest(self as ProtocolLike, args[0] as McpMessage, operation.span, telemetry, () =>
      guard.call('mcp.receive.call', operation.context, original, self, args),
    );
  } catch (error) {
    guard.run('mcp.receive.end', () => operation.end(outcomeOfError(error, undefined)));
    throw error;
  }
}

function patchedOnNotification(
  self: unknown,
  args: unknown[],
  original: Method,
  telemetry: Telemetry,
): unknown {
  const protocol = self as ProtocolLike;
  const transport = protocol._transport;
  if (transport === undefined) return original.apply(self, args);
  const { guard } = telemetry;
  const message = args[0] as McpMessage;
  const connection = guard.run('mcp.notified', () => connectionOn(transport, telemetry));
  if (connection === undefined || connection.dispatching === message) return original.apply(self, args);
  const incoming = guard.run('mcp.notified', () =>
    receiveNotification(telemetry, protocol, message, args[1] as MessageExtra),
  );
  if (incoming === undefined) return original.apply(self, args);
  const { operation } = incoming;
  const dispatch = () => guard.call('mcp.notified.call', incoming.context, original, self, args);
  connection.dispatching = message;
  try {
    return operation === undefined ? dispatch() : watchHandler(protocol, operation, dispatch);
  } finally {
    connection.dispatching = undefined;
  }
}

function patchedConnect(self: unknown, args: unknown[], original: Method, telemetry: Telemetry): unknown {
  telemetry.guard.run('mcp.connect', () => {
    const transport = args[0] as TransportLike;
    hookTransport(transport, telemetry);
    endProbes(connectionOn(transport, telemetry));
  });
  return original.apply(self, args);
}

function patchedOnClose(self: unknown, args: unknown[], original: Method, telemetry: Telemetry): unknown {
  telemetry.guard.run('mcp.close', () => {
    const transport = (self as ProtocolLike)._transport;
    if (transport !== undefined) connectionOn(transport, telemetry).close(CLOSED_OUTCOME, performance.now());
  });
  return original.apply(self, args);
}

/** v2 answers an `input_required` result and asks again: outside the caller's context, unless it is given back. */
function patchedRounds(self: unknown, args: unknown[], original: Method, telemetry: Telemetry): unknown {
  const { guard } = telemetry;
  const operation = guard.run('mcp.rounds', () => {
    const transport = (self as ProtocolLike)._transport;
    const flow = args[1] as { readonly request?: unknown } | undefined;
    return transport === undefined
      ? undefined
      : requestInRounds(connectionOn(transport, telemetry), flow?.request);
  });
  if (operation === undefined) return original.apply(self, args);
  return guard.call('mcp.rounds.call', operation.context, original, self, args);
}
