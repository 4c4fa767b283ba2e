/** Lists and records inside a value. */
const MAX_NODES = 5000;
const MAX_DEPTH = 8;

/** Calls back with the lists and records of a value, bounded. */
export function walkValues(value: unknown, take: (value: object) => void): void {
  let left = MAX_NODES;
  const walk = (part: unknown, depth: number): void => {
    if (typeof part !== 'object' || part === null || depth > MAX_DEPTH || left-- <= 0) return;
    take(part);
    if (Array.isArray(part)) for (const member of part.slice(0, 500)) walk(member, depth + 1);
    else
      for (const name in part) {
        if (left <= 0) return;
        walk((part as Record<string, unknown>)[name], depth + 1);
      }
  };
  walk(value, 0);
}
