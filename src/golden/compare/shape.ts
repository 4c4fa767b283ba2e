import type { DriftLevel } from './finding.ts';

/**
 * The shape of JSON values: their fields and types.
 *
 * List elements with a `type` (content blocks, stream events) have one shape per type, and the values of fields that
 * readers switch on (`object`, `type`, `role`) are part of the shape.
 */
type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'object' | 'array';

interface Shape {
  readonly types: Set<JsonType>;
  readonly fields: Map<string, Shape>;
  /** Shapes of list elements by their `type`; under the empty name without one. */
  readonly items: Map<string, Shape>;
  /** The values seen, for fields that readers switch on. */
  readonly words: Set<string>;
}

/** Deeper than any provider nests; the rest is ignored. */
const MAX_DEPTH = 64;
const TELLING_FIELDS: ReadonlySet<string> = new Set(['object', 'type', 'role']);
/** Tool arguments, which the tool shapes and not the provider: `tool_use.input`, `functionCall.args`. */
const ARGUMENT_FIELDS: ReadonlySet<string> = new Set(['input', 'args']);

export function inferShape(...values: readonly unknown[]): Shape {
  const shape = newShape();
  for (const value of values) add(shape, value, 0);
  return shape;
}

function newShape(): Shape {
  return { types: new Set(), fields: new Map(), items: new Map(), words: new Set() };
}

function add(shape: Shape, value: unknown, depth: number): void {
  const type = readType(value);
  shape.types.add(type);
  if (depth >= MAX_DEPTH) return;
  if (type === 'array') {
    for (const item of value as readonly unknown[]) add(slot(shape.items, typeName(item)), item, depth + 1);
  } else if (type === 'object') {
    addObject(shape, value as Readonly<Record<string, unknown>>, depth);
  }
}

function addObject(shape: Shape, value: Readonly<Record<string, unknown>>, depth: number): void {
  const isCall = typeof value.name === 'string';
  for (const [name, inner] of Object.entries(value)) {
    const field = slot(shape.fields, name);
    if (isCall && ARGUMENT_FIELDS.has(name)) {
      field.types.add(readType(inner));
      continue;
    }
    if (TELLING_FIELDS.has(name) && typeof inner === 'string') field.words.add(inner);
    add(field, inner, depth + 1);
  }
}

function slot(shapes: Map<string, Shape>, name: string): Shape {
  const known = shapes.get(name);
  if (known !== undefined) return known;
  const shape = newShape();
  shapes.set(name, shape);
  return shape;
}

function typeName(item: unknown): string {
  const type = readType(item) === 'object' ? (item as Readonly<Record<string, unknown>>).type : undefined;
  return typeof type === 'string' ? type : '';
}

function readType(value: unknown): JsonType {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'boolean' || type === 'number' || type === 'string' ? type : 'object';
}

export interface ShapeDifference {
  readonly level: DriftLevel;
  readonly place: string;
  readonly message: string;
}

/**
 * Compares two shapes: a new field is `info`, a removed one a `warning`, a changed type or switch value a `failure`.
 * A value that becomes null, or no longer is null, is `info`: providers use null for absent values.
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
    // A list that happens to be empty has not lost a kind of element.
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
