import type { DriftLevel } from './finding.ts';
import type { JsonType, Shape } from './shape.ts';

/** A difference of shape at one place. */
export interface ShapeDifference {
  readonly level: DriftLevel;
  readonly place: string;
  readonly message: string;
}

/**
 * What changed from one shape to another: a new field is `info`, a field that is gone a `warning`, another type or
 * another telling word a `failure`. A value that becomes null, or stops being so, is `info`: providers write null for
 * "nothing to say this time".
 */
export function shapeDrift(before: Shape, after: Shape, place: string): ShapeDifference[] {
  const found: ShapeDifference[] = [];
  compare(before, after, place, found);
  return found;
}

function compare(before: Shape, after: Shape, place: string, found: ShapeDifference[]): void {
  const [was, is] = [valueTypes(before), valueTypes(after)];
  if (was.length > 0 && is.length > 0 && !sameTypes(was, is)) {
    found.push({ level: 'failure', place, message: `was ${listed(was)}, is ${listed(is)}` });
    return;
  }
  if (was.length === 0 && is.length > 0) {
    found.push({ level: 'info', place, message: `was null, is ${listed(is)}` });
  }
  if (was.length > 0 && is.length === 0) {
    found.push({ level: 'info', place, message: `was ${listed(was)}, is null` });
    return;
  }
  compareWords(before, after, place, found);
  if (was.includes('object')) compareNamed(before.fields, after.fields, fieldPlace(place), 'field', found);
  if (was.includes('array')) compareNamed(before.items, after.items, itemPlace(place), 'element', found);
}

function compareWords(before: Shape, after: Shape, place: string, found: ShapeDifference[]): void {
  if (before.words.size === 0 || after.words.size === 0) return;
  const unheard = [...after.words].filter((word) => !before.words.has(word));
  if (unheard.length === 0) return;
  const were = [...before.words].map(quoted).join(', ');
  found.push({ level: 'failure', place, message: `was ${were}, is ${unheard.map(quoted).join(', ')}` });
}

function compareNamed(
  before: ReadonlyMap<string, Shape>,
  after: ReadonlyMap<string, Shape>,
  placeOf: (name: string) => string,
  kind: 'field' | 'element',
  found: ShapeDifference[],
): void {
  for (const [name, shape] of before) {
    const now = after.get(name);
    if (now !== undefined) compare(shape, now, placeOf(name), found);
    // A list that is empty this time has lost no kind of element.
    else if (kind === 'field' || after.size > 0) {
      found.push({ level: 'warning', place: placeOf(name), message: `the ${kind} is gone` });
    }
  }
  for (const [name, shape] of after) {
    if (before.has(name)) continue;
    if (kind === 'element' && before.size === 0) continue;
    found.push({
      level: 'info',
      place: placeOf(name),
      message: `a new ${kind}, ${listed([...shape.types])}`,
    });
  }
}

function fieldPlace(place: string): (name: string) => string {
  return (name) => (/^[\w$]+$/.test(name) ? `${place}.${name}` : `${place}[${JSON.stringify(name)}]`);
}

function itemPlace(place: string): (name: string) => string {
  return (name) => (name === '' ? `${place}[]` : `${place}[type=${name}]`);
}

function valueTypes(shape: Shape): JsonType[] {
  return [...shape.types].filter((type) => type !== 'null');
}

function sameTypes(a: readonly JsonType[], b: readonly JsonType[]): boolean {
  return a.length === b.length && a.every((type) => b.includes(type));
}

function listed(types: readonly JsonType[]): string {
  return types
    .map((type) => (type === 'null' ? type : `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`))
    .join(' or ');
}

function quoted(word: string): string {
  return JSON.stringify(word);
}
