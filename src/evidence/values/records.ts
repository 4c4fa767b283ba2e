/** Lists and records inside a value. */
const MAX_NODES = 5000;
const MAX_DEPTH = 8;

/** Calls back with the lists and records of a value, bounded. */
export function walkValues(value: unknown, take: (value: object, key: string) => void): void {
  let left = MAX_NODES;
  const walk = (part: unknown, key: string, depth: number): void => {
    if (typeof part !== 'object' || part === null || depth > MAX_DEPTH || left-- <= 0) return;
    take(part, key);
    if (Array.isArray(part)) for (const member of part.slice(0, 500)) walk(member, key, depth + 1);
    else
      for (const name in part) {
        if (left <= 0) return;
        walk((part as Record<string, unknown>)[name], name, depth + 1);
      }
  };
  walk(value, '', 0);
}

const MAX_COLUMNS = 200;
/** Sums of lists of numbers, and of numbers under the same key of the members of a list. */
export function readTotals(value: unknown): readonly number[] {
  const totals: number[] = [];
  walkValues(value, (part) => {
    if (totals.length > MAX_COLUMNS) return;
    const sums = new Map<string, number>();
    const add = (key: string, number: unknown) => {
      if (typeof number === 'number') sums.set(key, (sums.get(key) ?? 0) + number);
    };
    const members = Object.values(part).slice(0, MAX_COLUMNS);
    if (members.length < 2) return;
    for (const member of members) {
      if (Array.isArray(part)) add('', member);
      if (typeof member !== 'object' || member === null) continue;
      for (const key of Object.keys(member).slice(0, 24)) add(key, (member as Record<string, unknown>)[key]);
    }
    totals.push(...sums.values());
  });
  return totals;
}
