/**
 * The memory of the kernel: what the host writes once, see `src/signals/kernel.ts`, then a stack of texts and tables.
 */

/** Two secret numbers of 8 bytes that hashes depend on. */
export const SEEDS: usize = 0;
/** The first four letters of the words of phrases, 256 of 4 bytes, each where they lead; see `src/signals/phrases.ts`. */
export const CANDIDATES: usize = 64;
/** The classes of the ASCII characters, 256 bytes; the bits are those of `src/signals/unicode.ts`. */
export const CLASSES: usize = 1088;
/** What each character can be in a UUID, 256 bytes, and what must stand at each of its 36 places. */
export const UUID_CHARACTERS: usize = 1344;
export const UUID_PLACES: usize = 1600;

/** Tokens that are still to be added to a set. */
export const WAITING: usize = 1664;
export const WAITING_BYTES: usize = 4096;

const HEAP: usize = 5760;
const PAGE: usize = 65536;

let top: usize = HEAP;

/** Gives out memory until `free`. @returns its address, a multiple of 16. */
export function allocate(size: usize): usize {
  const address = top;
  top = (address + size + 15) & ~15;
  const missing = <i32>((top + PAGE - 1) / PAGE) - memory.size();
  if (missing > 0 && memory.grow(missing) < 0) unreachable();
  return address;
}

/** Takes back what has been given out since the memory at this address, and that; everything when it is 0. */
export function free(address: usize): void {
  top = max(address, HEAP);
}
