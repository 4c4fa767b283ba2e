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

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
