/** Longest answer kept from a stream, in UTF-16 units. Longer than any model writes; it only stops a runaway server. */
const MAX_LENGTH = 8 * 1024 * 1024;

/** Collects the pieces of a streamed text without copying it at each one. */
export class TextBuffer {
  #pieces: string[] = [];
  #length = 0;

  push(piece: unknown): void {
    if (typeof piece !== 'string' || piece === '' || this.#length >= MAX_LENGTH) return;
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  toString(): string {
    if (this.#pieces.length > 1) this.#pieces = [this.#pieces.join('')];
    return this.#pieces[0] ?? '';
  }
}
