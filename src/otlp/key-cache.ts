/** Longest name that is kept. */
const MAX_BYTES = 64;
/** A power of two. Instrumentations use a few hundred names; others push each other out. */
const SLOTS = 2_048;

interface Slot {
  readonly bytes: Uint8Array;
  readonly text: string;
}

/**
 * The text of attribute names by their bytes. Spans repeat a few hundred names; a text that exists already costs neither
 * decoding nor memory, and V8 finds the property of an interned text without hashing it. Bounded: a name takes the slot
 * of another one with the same hash.
 */
export class KeyCache {
  readonly #slots: (Slot | undefined)[] = new Array<Slot | undefined>(SLOTS).fill(undefined);

  /** The UTF-8 text from `from` up to `to`. */
  text(bytes: Buffer, from: number, to: number): string {
    const length = to - from;
    if (length > MAX_BYTES) return bytes.toString('utf8', from, to);
    let hash = length;
    for (let at = from; at < to; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
    const index = (hash ^ (hash >>> 13)) & (SLOTS - 1);
    const slot = this.#slots[index];
    if (slot !== undefined && isEqual(slot.bytes, bytes, from, length)) return slot.text;
    const text = bytes.toString('utf8', from, to);
    this.#slots[index] = { bytes: new Uint8Array(bytes.subarray(from, to)), text };
    return text;
  }
}

function isEqual(known: Uint8Array, bytes: Uint8Array, from: number, length: number): boolean {
  if (known.length !== length) return false;
  for (let i = 0; i < length; i += 1) if (known[i] !== bytes[from + i]) return false;
  return true;
}
