import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { ObservatoryError } from './errors.ts';

/** Maximum line length, to bound memory. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BYTE_ORDER_MARK = '\ufeff';

/** One line without its line end, or the error of reading it. */
export type Line = string | ObservatoryError;

/**
 * Reads the lines of a UTF-8 stream lazily. Lines end with LF or CRLF; a byte order mark is dropped. `node:readline`
 * also ends lines at U+2028 and U+2029, which JSON allows in strings, and takes time quadratic in the length of a line.
 *
 * @param maxBytes of a line; a longer one is an error, and no more of it is held.
 */
export async function* readLines(input: Readable, maxBytes: number = MAX_LINE_BYTES): AsyncGenerator<Line> {
  const line = new PartialLine(maxBytes);
  let first = true;
  for await (const data of input) {
    const chunk: Buffer = typeof data === 'string' ? Buffer.from(data) : data;
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      line.push(chunk.subarray(start, end));
      yield line.take(first);
      first = false;
      start = end + 1;
    }
    line.push(chunk.subarray(start));
  }
  if (!line.empty) yield line.take(first);
}

/** The parts of a line received so far. */
class PartialLine {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get empty(): boolean {
    return this.#size === 0;
  }

  push(part: Buffer): void {
    this.#size += part.length;
    if (this.#size > this.#maxBytes) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  take(first: boolean): Line {
    const size = this.#size;
    let bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#size = 0;
    if (size > this.#maxBytes) {
      const limit = `at most ${this.#maxBytes} bytes`;
      return new ObservatoryError('INVALID_INPUT', `Expected a line of ${limit}, got ${size}; split it`);
    }
    if (bytes.at(-1) === RETURN) bytes = bytes.subarray(0, -1);
    if (!isUtf8(bytes)) return new ObservatoryError('INVALID_INPUT', 'The line is not valid UTF-8');
    const text = bytes.toString('utf8');
    return first && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  }
}
