/** Most text kept of one stream, in UTF-16 units. No model writes this much; it stops a runaway server. */
const MAX_LENGTH = 8 * 1024 * 1024;

/** What one stream may still keep, shared by all its buffers. */
export class StreamRoom {
  #left = MAX_LENGTH;

  /** @returns whether `length` more units may be kept. */
  take(length: number): boolean {
    if (this.#left <= 0) return false;
    this.#left -= length;
    return true;
  }
}

/** Collects the pieces of a streamed text. Adding is O(1): V8 joins the pieces when the text is first read. */
export class TextBuffer {
  readonly #room: StreamRoom;
  #text = '';

  constructor(room: StreamRoom) {
    this.#room = room;
  }

  /** @returns the piece if it is text that was kept, else `''`. */
  push(piece: unknown): string {
    if (typeof piece !== 'string' || piece === '' || !this.#room.take(piece.length)) return '';
    this.#text += piece;
    return piece;
  }

  get isEmpty(): boolean {
    return this.#text === '';
  }

  toString(): string {
    return this.#text;
  }
}
