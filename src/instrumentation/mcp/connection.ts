/**
 * One connection: a protocol object on a transport. Keeps what its messages have in common (peer, protocol version,
 * session) and what is under way on it.
 */
import { type Attributes, type Context, createContextKey } from '@opentelemetry/api';
import { semconv, toAttribute } from '../../base/index.ts';
import { openCalls } from '../shared/index.ts';
import { type Caller, idOfTransport, statelessClient } from './connection-id.ts';
import { Identity } from './identity.ts';
import type { McpMessage, MessageExtra, ProtocolLike, TransportLike } from './internal-types.ts';
import { clipped } from './methods.ts';
import { CLOSED_OUTCOME, type RequestOutcome } from './outcome.ts';
import type { Telemetry } from './telemetry.ts';
import { type TransportFacts, transportFacts } from './transport.ts';
import type { McpPropagation, McpSide } from './types.ts';
import { UnderWay } from './under-way.ts';

const ATTR_CONNECTION_ID = toAttribute('connection_id');

/** Who sent the HTTP request that is being handled, where the transport was given Node's own request object. */
export const HTTP_CLIENT_KEY = createContextKey('mcp-observatory HTTP client');

export class Connection {
  readonly telemetry: Telemetry;
  readonly facts: TransportFacts;
  readonly propagation: McpPropagation;
  readonly identity = new Identity();
  readonly sent = new UnderWay();
  /** Requests the other side sent, by JSON-RPC id. */
  readonly received = new UnderWay();
  /** The message being dispatched; a class that overrides a dispatch method and calls `super` comes by twice. */
  dispatching: unknown;
  protocolVersion: string | undefined;
  readonly #transport: TransportLike;
  #id: string | undefined;
  #knownFor: unknown;
  #knownParties: unknown;
  #knownVersion: string | undefined;
  #knownMetrics: Readonly<Record<McpSide, Map<string, Attributes>>> = {
    client: new Map(),
    server: new Map(),
  };
  #common: CommonAttributes | undefined;
  #session: { readonly side: McpSide; readonly startedAt: number } | undefined;
  #sessionError: string | undefined;

  constructor(telemetry: Telemetry, transport: TransportLike) {
    this.telemetry = telemetry;
    this.facts = transportFacts(transport);
    this.#transport = transport;
    this.propagation = propagationTo(telemetry, this.facts);
  }

  /** Attributes of metrics by what they are about; anew for each set of metrics, protocol version and peer. */
  knownMetrics(side: McpSide, protocolVersion: string | undefined): Map<string, Attributes> {
    const { metrics } = this.telemetry;
    const { attributes: parties } = this.identity;
    const isAsKnown = this.#knownFor === metrics && this.#knownParties === parties;
    if (!isAsKnown || this.#knownVersion !== protocolVersion) {
      this.#knownFor = metrics;
      this.#knownParties = parties;
      this.#knownVersion = protocolVersion;
      this.#knownMetrics = { client: new Map(), server: new Map() };
    }
    return this.#knownMetrics[side];
  }

  /** What all spans of one side have: made anew when something of it has changed. */
  commonAttributes(side: McpSide, protocolVersion: string | undefined): Attributes {
    const { sessionId, id } = this;
    const { attributes: parties } = this.identity;
    const known = this.#common;
    if (
      known?.side === side &&
      known.protocolVersion === protocolVersion &&
      known.sessionId === sessionId &&
      known.id === id &&
      known.parties === parties
    )
      return known.attributes;
    const attributes: Attributes = { ...this.facts.network };
    if (protocolVersion !== undefined) attributes[semconv.ATTR_MCP_PROTOCOL_VERSION] = protocolVersion;
    if (sessionId !== undefined) attributes[semconv.ATTR_MCP_SESSION_ID] = sessionId;
    attributes[ATTR_CONNECTION_ID] = id;
    Object.assign(attributes, parties);
    if (side === 'client') addServerAddress(this, attributes);
    this.#common = { side, protocolVersion, sessionId, id, parties, attributes };
    return attributes;
  }

  get sessionId(): string | undefined {
    const id = this.#transport.sessionId;
    return typeof id === 'string' && id !== '' ? clipped(id) : undefined;
  }

  /** Shared by what belongs to one session, where the protocol has no id for it. */
  get id(): string {
    this.#id ??= idOfTransport(this.#transport);
    return this.#id;
  }

  /** Reads who sent a message that arrives; one to a stateless server is of a client that was here before. */
  receive(protocol: ProtocolLike, message: McpMessage, extra: MessageExtra | undefined, from: Context): void {
    this.identity.readProtocol(protocol);
    this.identity.readRequest(message);
    if (this.#id !== undefined || this.facts.peer.transport !== 'http' || this.sessionId !== undefined)
      return;
    const caller = from.getValue(HTTP_CLIENT_KEY) as Caller | undefined;
    const known = statelessClient(caller, extra, this.identity.client);
    if (known === undefined) return;
    this.#id = known.id;
    this.identity.assume(known.client);
  }

  /** The session begins with its handshake; connections that serve one request and close never have one. */
  beginSession(side: McpSide, startedAt: number): void {
    this.#session ??= { side, startedAt };
  }

  failSession(errorType: string | undefined): void {
    this.#sessionError = errorType;
  }

  /** Ends all that is under way, and the session. @param isExit the event loop will not turn any more. */
  close(outcome: RequestOutcome, now: number, isExit = false): void {
    this.sent.endAll(outcome);
    if (isExit) this.received.endAll(outcome);
    else void this.received.endInTurns(outcome, this.telemetry.guard);
    const session = this.#session;
    this.#session = undefined;
    if (session === undefined) return;
    // A stateless HTTP server makes a connection per request: no session to measure.
    const perRequest = this.facts.peer.transport === 'http' && session.side === 'server';
    if (perRequest && this.sessionId === undefined) return;
    const attributes: Attributes = { ...this.facts.network };
    if (this.protocolVersion !== undefined)
      attributes[semconv.ATTR_MCP_PROTOCOL_VERSION] = this.protocolVersion;
    if (this.#sessionError !== undefined) attributes[semconv.ATTR_ERROR_TYPE] = this.#sessionError;
    if (session.side === 'client') addServerAddress(this, attributes);
    this.telemetry.metrics.recordSession(session.side, (now - session.startedAt) / 1000, attributes);
  }
}

interface CommonAttributes {
  readonly side: McpSide;
  readonly protocolVersion: string | undefined;
  readonly sessionId: string | undefined;
  readonly id: string;
  readonly parties: Readonly<Record<string, string>>;
  readonly attributes: Attributes;
}

export function addServerAddress(connection: Connection, attributes: Attributes): void {
  const { address, port } = connection.facts.peer;
  if (address !== undefined) attributes[semconv.ATTR_SERVER_ADDRESS] = address;
  if (port !== undefined) attributes[semconv.ATTR_SERVER_PORT] = port;
}

/** Version in force for one message: the negotiated one, else what the message says (2026-07-28, stateless HTTP). */
export function protocolVersionFor(
  connection: Connection,
  message: McpMessage,
  extra: MessageExtra | undefined,
): string | undefined {
  if (connection.protocolVersion !== undefined) return connection.protocolVersion;
  const declared =
    message.params?._meta?.['io.modelcontextprotocol/protocolVersion'] ??
    extra?.requestInfo?.headers?.['mcp-protocol-version'] ??
    extra?.request?.headers?.get('mcp-protocol-version');
  return asProtocolVersion(declared);
}

/** Protocol versions are dates; anything else a peer may claim is left out. */
export function asProtocolVersion(value: unknown): string | undefined {
  return typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) ? value : undefined;
}

function propagationTo(telemetry: Telemetry, facts: TransportFacts): McpPropagation {
  const { propagate } = telemetry.settings;
  if (propagate === undefined) return facts.peer.local ? 'all' : 'trace';
  if (typeof propagate !== 'function') return propagate;
  return telemetry.guard.run('mcp.propagate', () => propagate(facts.peer)) ?? 'none';
}

/** A connection holds its transport, which a WeakMap allows: neither outlives the application's own hold on it. */
const connections = new WeakMap<object, Connection>();

/** The connection on a transport. One whose instrumentation has been disabled is begun anew by the next. */
export function connectionOn(transport: TransportLike, telemetry: Telemetry): Connection {
  const known = connections.get(transport);
  if (known !== undefined && (known.telemetry === telemetry || known.telemetry.enabled)) return known;
  telemetry.follow();
  const connection = new Connection(telemetry, transport);
  connections.set(transport, connection);
  const reference = new WeakRef(connection);
  live.add(reference);
  collected.register(connection, reference);
  return connection;
}

/** Weak, for nobody is bound to close a connection. */
const live = new Set<WeakRef<Connection>>();
const collected = new FinalizationRegistry<WeakRef<Connection>>((reference) => live.delete(reference));

/** The process is about to end: so do its connections, and the spans of what is under way on them. */
openCalls.alsoEnd(() => {
  for (const reference of live) {
    const connection = reference.deref();
    connection?.telemetry.guard.run('mcp.exit', () =>
      connection.close(CLOSED_OUTCOME, performance.now(), true),
    );
  }
});
