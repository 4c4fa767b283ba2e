import { StringDecoder } from 'node:string_decoder';
import { type MessageLimits, MessageMeter } from './message-meter.ts';

const NEWLINE = 0x0a;
/** Pieces below this size are put together before they are decoded. */
const SMALL_BYTES = 4_096;
const GATHERED_BYTES = 65_536;

/**
 * Splits a byte stream into lines. Bytes are decoded as they arrive, not when a line is complete, and a long line takes
 * linear time.
 */
export class LineBuffer {
  readonly #meter: MessageMeter;
  readonly #decoder = new StringDecoder('utf8');
  #gathered: Buffer | undefined;
  #gatheredBytes = 0;
  #text = '';

  constructor(limits: MessageLimits) {
    this.#meter = new MessageMeter(limits);
  }

  /**
   * The lines that `chunk` completes, without their line ends. An empty line is left out, unless a turn of the event
   * loop is due after it.
   * @throws RangeError when a line exceeds a limit.
   */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) break;
      const line = this.#take(chunk.subarray(start, end));
      start = end + 1;
      if (line !== '' || this.#meter.isTurnDue) yield line;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  /** Whether the event loop is to turn before more is read; a yes is given once. */
  takeTurn(): boolean {
    return this.#meter.takeTurn();
  }

  clear(): void {
    this.#text = '';
    this.#gatheredBytes = 0;
    this.#decoder.end();
    this.#meter.reset();
  }

  #measure(piece: Buffer): void {
    try {
      this.#meter.add(piece);
    } catch (error) {
      this.clear();
      throw error;
    }
  }

  #keep(piece: Buffer): void {
    this.#measure(piece);
    if (piece.length >= SMALL_BYTES) {
      this.#decodeGathered();
      this.#text += this.#decoder.write(piece);
      return;
    }
    this.#gathered ??= Buffer.allocUnsafeSlow(GATHERED_BYTES);
    if (this.#gatheredBytes + piece.length > GATHERED_BYTES) this.#decodeGathered();
    piece.copy(this.#gathered, this.#gatheredBytes);
    this.#gatheredBytes += piece.length;
  }

  #decodeGathered(): void {
    if (this.#gathered === undefined || this.#gatheredBytes === 0) return;
    this.#text += this.#decoder.write(this.#gathered.subarray(0, this.#gatheredBytes));
    this.#gatheredBytes = 0;
  }

  #take(last: Buffer): string {
    const isWhole = this.#text === '' && this.#gatheredBytes === 0;
    if (isWhole) this.#measure(last);
    else this.#keep(last);
    this.#decodeGathered();
    const text = isWhole ? last.toString('utf8') : this.#text + this.#decoder.end();
    this.clear();
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  }
}

/** Keeps the last bytes of a stream, for error messages. */
export class TailBuffer {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    this.#pieces.push(chunk.length > this.#maxBytes ? chunk.subarray(-this.#maxBytes) : chunk);
    this.#size += Math.min(chunk.length, this.#maxBytes);
    while (this.#pieces.length > 1 && this.#size - (this.#pieces[0]?.length ?? 0) >= this.#maxBytes) {
      this.#size -= this.#pieces.shift()?.length ?? 0;
    }
  }

  toString(): string {
    return Buffer.concat(this.#pieces).subarray(-this.#maxBytes).toString('utf8');
  }
}
