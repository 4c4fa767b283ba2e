/** The requests of one connection and direction that have not been answered yet. */
import type { Context, Span } from '@opentelemetry/api';
import { ownTurn } from '../../base/index.ts';
import type { Guard } from '../shared/index.ts';
import type { McpMessage, RequestId } from './internal-types.ts';
import { LOST_OUTCOME, type RequestOutcome } from './outcome.ts';

/** Requests kept in mind at a time; beyond it the oldest is given up. */
const MAX_UNDER_WAY = 10_000;
const ENDED_PER_TURN = 500;

export interface OpenRequest {
  /** The context it runs in: its span active, with the baggage it came with. */
  readonly context: Context;
  readonly span: Span;
  readonly method: string;
  /** The message as it came, or as the caller wanted it sent. */
  readonly message: McpMessage;
  /** The request as handed to the SDK, on the side that sends it. */
  readonly request: McpMessage | undefined;
  readonly progressToken: RequestId | undefined;
  readonly startedAt: number;
  progress(params: Readonly<Record<string, unknown>>): void;
  /** What was agreed on in the handshake this request is. */
  negotiated(protocolVersion: string): void;
  /** Its answer was a task: the operation goes on, though the request is not under way any more. */
  detach(): void;
  describeTask(taskId: string, status: string): void;
  /**
   * The first end counts; what comes later (an answer after a cancellation, a close) is passed over.
   * @param endedAt when the work ended, by `Date.now()`. @defaultValue now
   */
  end(outcome: RequestOutcome, endedAt?: number): void;
}

/**
 * By id, and by progress token where there is one. Most connections have one request at a time: the first has a place
 * of its own, for a Map that is filled and emptied with every call allocates more than the rest of the bookkeeping.
 */
export class UnderWay {
  #firstId: RequestId | undefined;
  #first: OpenRequest | undefined;
  readonly #byId = new Map<RequestId, OpenRequest>();
  readonly #byToken = new Map<RequestId, OpenRequest>();

  add(id: RequestId, operation: OpenRequest): void {
    if (this.#first === undefined && !this.#byId.has(id)) {
      this.#firstId = id;
      this.#first = operation;
    } else {
      this.#makeRoom();
      this.#byId.set(id, operation);
    }
    if (operation.progressToken !== undefined) this.#byToken.set(operation.progressToken, operation);
  }

  get(id: unknown): OpenRequest | undefined {
    if (this.#first !== undefined && this.#firstId === id) return this.#first;
    return this.#byId.size === 0 ? undefined : this.#byId.get(id as RequestId);
  }

  /** The request a progress notification is about. */
  withToken(token: unknown): OpenRequest | undefined {
    return this.#byToken.get(token as RequestId);
  }

  remove(id: RequestId, operation: OpenRequest): void {
    if (this.#first === operation) this.#first = undefined;
    else if (this.#byId.get(id) === operation) this.#byId.delete(id);
    const token = operation.progressToken;
    if (token !== undefined && this.#byToken.get(token) === operation) this.#byToken.delete(token);
  }

  endAll(outcome: RequestOutcome): void {
    for (const operation of [...this]) operation.end(outcome);
  }

  /** As {@link endAll}, in turns of the event loop: a peer may leave thousands of its requests open. */
  async endInTurns(outcome: RequestOutcome, guard: Guard): Promise<void> {
    for (const [i, operation] of [...this].entries()) {
      if (i % ENDED_PER_TURN === ENDED_PER_TURN - 1) await ownTurn();
      guard.run('mcp.close', () => operation.end(outcome));
    }
  }

  *[Symbol.iterator](): Iterator<OpenRequest> {
    if (this.#first !== undefined) yield this.#first;
    yield* this.#byId.values();
  }

  #makeRoom(): void {
    if (this.#byId.size < MAX_UNDER_WAY) return;
    for (const oldest of this.#byId.values()) {
      oldest.end(LOST_OUTCOME);
      return;
    }
  }
}
