/**
 * Looking at four bytes of a text in one 32-bit word. A branch for every character costs about 3 ns, since the lengths
 * of words cannot be predicted; four at a time cost a quarter of that.
 *
 * Each test sets the high bit of the bytes it holds for, the *marks*. With `low = word & 0x7f7f7f7f` nothing carries
 * from one byte into the next, and for ASCII bytes
 * - `(low + 0x80 - a) & ~(low + 0x7f - b)` in every byte marks the characters from a to b,
 * - `~((low ^ a) + 0x7f)` marks the character a,
 * - `~(low + 0x60)` marks the control characters, below U+0020.
 *
 * What these say of other bytes means nothing, but `word` itself marks those. The scanners write the tests out: as
 * functions they take half as long again, though the compiler inlines them.
 */

/** The number of bytes before the first marked one; `marks` must not be 0. */
export function firstMarked(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >>> 3;
}
