import { kinds, type OptionKinds } from '../base/index.ts';
import { ValueCounter } from '../json/index.ts';
import type { ConnectionOptions } from './types.ts';

export type MessageLimits = Pick<ConnectionOptions, 'maxMessageBytes' | 'maxMessageValues'>;

export const MESSAGE_KINDS: OptionKinds<MessageLimits> = {
  maxMessageBytes: kinds.number,
  maxMessageValues: kinds.number,
};

const DEFAULT_MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const DEFAULT_MAX_MESSAGE_VALUES = 100_000;
/** Values of small messages that are read in one turn of the event loop; an SDK takes about 1 µs for each. */
const VALUES_PER_TURN = 25_000;
/** What a line or event costs whatever it holds, in values: an error where it is no message, or an answer. */
const PER_MESSAGE = 800;

/** Measures a message as its bytes arrive, so that one that takes too much memory or time is never parsed. */
export class MessageMeter {
  readonly #maxBytes: number;
  readonly #maxValues: number;
  readonly #counter: ValueCounter;
  #bytes = 0;
  #values = 0;
  #sinceTurn = 0;

  constructor({ maxMessageBytes, maxMessageValues }: MessageLimits, isLines = false) {
    this.#counter = new ValueCounter(isLines);
    this.#maxBytes = maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES;
    this.#maxValues = maxMessageValues ?? DEFAULT_MAX_MESSAGE_VALUES;
  }

  /** Adds the bytes from `start` to `end` to the message. @throws RangeError when the message exceeds a limit. */
  add(bytes: Uint8Array, start = 0, end: number = bytes.length): void {
    this.addText(end - start);
    const values = this.#counter.count(bytes, start, end);
    this.#values += values;
    this.#sinceTurn += values;
    if (this.#values > this.#maxValues) throw exceeded('maxMessageValues', `${this.#maxValues} JSON values`);
  }

  /** Adds bytes that are never parsed. @throws RangeError as `add` does. */
  addText(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) throw exceeded('maxMessageBytes', `${this.#maxBytes} bytes`);
  }

  /** Whether the event loop is to turn before more is read: a flood of small messages is as slow as a large one. */
  get isTurnDue(): boolean {
    return this.#sinceTurn >= VALUES_PER_TURN;
  }

  /** {@link isTurnDue}, for a caller that then waits for the turn: after a yes the count starts anew. */
  takeTurn(): boolean {
    if (!this.isTurnDue) return false;
    this.#sinceTurn = 0;
    return true;
  }

  reset(): void {
    this.#sinceTurn += PER_MESSAGE;
    this.#bytes = 0;
    this.#values = 0;
    this.#counter.reset();
  }
}

function exceeded(option: keyof MessageLimits, what: string): RangeError {
  return new RangeError(`a message of more than ${what}; make it send less, or raise \`${option}\``);
}
