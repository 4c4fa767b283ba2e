/** A pair of what stands at the same place in two lists, or what only one of them has. */
export interface Pair<T> {
  readonly a: T | undefined;
  readonly b: T | undefined;
}

/** Lists whose lengths multiply to more are paired by position: finding the best way would take too long. */
const MAX_CELLS = 4_000_000;

/** Pairs two lists so that as many elements as possible meet one of the same key, in order. */
export function align<T>(a: readonly T[], b: readonly T[], keyOf: (item: T) => string): Pair<T>[] {
  if (a.length * b.length > MAX_CELLS) {
    return Array.from({ length: Math.max(a.length, b.length) }, (_, at) => ({ a: a[at], b: b[at] }));
  }
  const [keysA, keysB] = [a.map(keyOf), b.map(keyOf)];
  const width = b.length + 1;
  // The longest common sequence of the rests from each pair of places on.
  const longest = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        keysA[i] === keysB[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: Pair<T>[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && keysA[i] === keysB[j]) pairs.push({ a: a[i++], b: b[j++] });
    else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1)))
      pairs.push({ a: a[i++], b: undefined });
    else pairs.push({ a: undefined, b: b[j++] });
  }
  return pairs;
}
