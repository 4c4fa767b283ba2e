/** Numbers in [0, 1) from a seed, so that a failure can be repeated (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Whole numbers from 0 to below the given one, the same on every run. */
export function random(seed: number): (below: number) => number {
  const next = seededRandom(seed);
  return (below) => Math.floor(next() * below);
}

/** The values in a random order. @param below whole numbers from 0 to below the given one. */
export function shuffled<T>(values: readonly T[], below: (count: number) => number): T[] {
  const rest = [...values];
  return Array.from(values, () => rest.splice(below(rest.length), 1)[0] as T);
}

export function pick<T>(values: readonly T[], random: () => number): T {
  return values[Math.floor(random() * values.length)] as T;
}
