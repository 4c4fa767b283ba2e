import { ObservatoryError } from './errors.ts';

/** Longest name that is compared with the known ones. */
const MAX_NAME = 64;

/**
 * Refuses options that nothing reads, which are usually misspelled.
 * @param what whose options they are, for the message.
 * @throws ObservatoryError `INVALID_OPTION` that names the option and the known one nearest to it.
 */
export function refuseUnknownOptions(options: object, known: readonly string[], what: string): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const shown = unknown.slice(0, MAX_NAME);
  throw new ObservatoryError(
    'INVALID_OPTION',
    `${what} has no option '${shown}'; the nearest is '${nearest(shown, known)}'. All options: ${known.join(', ')}`,
  );
}

/** The known name that an unknown one is a slip of: it differs by two letters at most, a short one by one. */
export function misspelled(name: string, known: readonly string[]): string | undefined {
  if (name.length > MAX_NAME) return undefined;
  const most = name.length < 5 ? 1 : 2;
  return known.find((other) => editDistance(plain(name), plain(other)) <= most);
}

/** The known name that is nearest to an unknown one. */
export function nearest(name: string, known: readonly string[]): string {
  const distances = known.map((other) => distance(plain(name), plain(other)));
  return known[distances.indexOf(Math.min(...distances))] ?? '';
}

/** `service_name`, `ServiceName` and `serviceName` are one name. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}

/** A beginning of a name is meant as that name. */
function distance(name: string, known: string): number {
  return name !== '' && known.startsWith(name) ? 0 : editDistance(name, known);
}

/** Insertions, deletions, replacements and swaps of neighbors that turn one word into another. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (last[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min(change, (last[j] as number) + 1, (row[j - 1] as number) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (before[j - 2] as number) + 1);
      }
      row.push(best);
    }
    before = last;
    last = row;
  }
  return last[b.length] as number;
}

/** Whether a name consists of the parts, in order, with anything between them. */
export function matchesParts(name: string, parts: readonly string[]): boolean {
  const [first = '', ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let position = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, position);
    if (found < 0) return false;
    position = found + part.length;
  }
  return name.length - last.length >= position && name.endsWith(last);
}
