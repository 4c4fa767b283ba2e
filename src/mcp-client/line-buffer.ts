const NEWLINE = 0x0a;

/** Splits a byte stream into lines. Joins the pieces of a line only when it is complete, so a long line takes linear time. */
export class LineBuffer {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that `chunk` completes, without their line ends. @throws RangeError when a line exceeds the limit. */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) break;
      const line = this.#take(chunk.subarray(start, end));
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  clear(): void {
    this.#pieces = [];
    this.#size = 0;
  }

  #keep(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#size > this.#maxBytes) {
      this.clear();
      throw new RangeError(`a message of more than ${this.#maxBytes} bytes`);
    }
    this.#pieces.push(piece);
  }

  #take(last: Buffer): string {
    this.#keep(last);
    const whole = this.#pieces.length === 1 ? last : Buffer.concat(this.#pieces, this.#size);
    this.clear();
    const text = whole.toString('utf8');
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
