/** The spans of a server whose SDK no hook can see, for it is bundled: from the messages on its wire. */
import { type Context, context } from '@opentelemetry/api';
import { reportHooked } from '../shared/index.ts';
import { asProtocolVersion, connectionOn } from './connection.ts';
import { receiveNotification, receiveRequest } from './inbound.ts';
import type { McpMessage, MessageExtra, TransportLike } from './internal-types.ts';
import { INITIALIZE, PROGRESS } from './methods.ts';
import type { Operation } from './operation.ts';
import { answerRequest } from './outbound.ts';
import { CLOSED_OUTCOME, outcomeOfResult, type RequestOutcome } from './outcome.ts';
import type { Telemetry } from './telemetry.ts';

/** Messages that are kept until the first answer. */
const MAX_WAITING = 32;

/** All wires of one kind: their messages have spans unless a hook of the SDK sees them too, as the first answer tells. */
export class Wire {
  readonly telemetry: Telemetry;
  isStopped = false;
  isAlone = false;
  readonly #name: string;
  readonly #isHooked: () => boolean;
  readonly #onStop: () => void;

  /** @param name of such servers in the report of what is hooked. */
  constructor(telemetry: Telemetry, name: string, isHooked: () => boolean, onStop: () => void) {
    this.telemetry = telemetry;
    this.#name = name;
    this.#isHooked = isHooked;
    this.#onStop = onStop;
  }

  /** Looks for a hook of the SDK, which has met a request when it is answered. @returns whether there is none. */
  check(isAnswer: boolean): boolean {
    if (this.#isHooked()) this.stop();
    if (isAnswer && !this.isStopped && !this.isAlone) {
      this.isAlone = true;
      reportHooked({ name: this.#name, version: undefined, patched: ['messages'], missing: [] });
    }
    return !this.isStopped;
  }

  stop(): void {
    this.isStopped = true;
    this.#onStop();
  }
}

interface Waiting {
  readonly message: McpMessage;
  readonly extra: MessageExtra | undefined;
  readonly from: Context;
  readonly arrivedAt: number | undefined;
}

/** One connection of such a server. */
export class WireServer<T extends TransportLike = TransportLike> {
  readonly transport: T;
  readonly #wire: Wire;
  #waiting: Waiting[] = [];

  constructor(wire: Wire, transport: T) {
    this.transport = transport;
    this.#wire = wire;
  }

  /** @returns the requests that have begun with it. */
  receive(messages: readonly McpMessage[], from = context.active(), extra?: MessageExtra): Operation[] {
    const begun: Operation[] = [];
    for (const message of messages) {
      if (typeof message.method !== 'string') continue;
      // The session that a handshake begins is known with its answer.
      if (!this.#wire.isAlone || message.method === INITIALIZE) {
        if (this.#waiting.length < MAX_WAITING)
          this.#waiting.push({ message, extra, from, arrivedAt: Date.now() });
        continue;
      }
      const operation = this.#begin({ message, extra, from, arrivedAt: undefined });
      if (operation !== undefined) begun.push(operation);
    }
    return begun;
  }

  send(messages: readonly McpMessage[]): void {
    for (const message of messages) {
      if (message.method === PROGRESS)
        this.#received.withToken(message.params?.progressToken)?.progress(message.params ?? {});
      else if (message.method === undefined) this.#answer(message);
    }
  }

  /** Ends the requests among `messages` that have no answer. */
  end(messages: readonly McpMessage[], outcome: RequestOutcome): void {
    this.#beginWaiting();
    for (const { method, id } of messages) if (method !== undefined) this.#received.get(id)?.end(outcome);
  }

  /** Ends the session. */
  close(): void {
    this.#connection.close(CLOSED_OUTCOME, performance.now());
  }

  #answer(message: McpMessage): void {
    // What is refused before it is read has an error without an id.
    if (this.#wire.check(message.id !== null)) {
      this.#beginWaiting();
      answerRequest(this.#connection, message);
    } else this.#received.get(message.id)?.detach();
  }

  #beginWaiting(): void {
    if (this.#wire.isAlone) for (const one of this.#waiting.splice(0)) this.#begin(one);
  }

  #begin({ message, extra, from, arrivedAt }: Waiting): Operation | undefined {
    const { telemetry } = this.#wire;
    const protocol = { _transport: this.transport };
    return context.with(from, () => {
      if (message.id !== undefined && message.id !== null)
        return receiveRequest(telemetry, protocol, message, extra, arrivedAt);
      const { operation } = receiveNotification(telemetry, protocol, message, extra) ?? {};
      operation?.end(outcomeOfResult(operation.method, undefined));
      return undefined;
    });
  }

  get #connection() {
    return connectionOn(this.transport, this.#wire.telemetry);
  }

  get #received() {
    return this.#connection.received;
  }
}

/** Whether a message opens MCP, and none of the other protocols that speak JSON-RPC. */
export function opensMcp({ method, params }: McpMessage = {}): boolean {
  const version = params?.protocolVersion ?? params?._meta?.['io.modelcontextprotocol/protocolVersion'];
  return typeof method === 'string' && asProtocolVersion(version) !== undefined;
}
