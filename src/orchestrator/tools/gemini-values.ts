import { isObject } from '../../json/index.ts';
import type { GeminiNotes } from './gemini-notes.ts';
import { type Schema, sameJson } from './json-schema.ts';

/** The values `enum` and `const` leave, as far as they are of the type; undefined when any value will do. */
export function allowedValues(schema: Schema): readonly unknown[] | undefined {
  const listed = schema.enum as unknown[] | undefined;
  const values = Object.hasOwn(schema, 'const')
    ? [schema.const].filter((each) => listed === undefined || listed.some((other) => sameJson(each, other)))
    : listed;
  const types = schema.type === undefined ? undefined : [schema.type].flat();
  return values?.filter(
    (each) => types === undefined || types.some((type) => isOfType(each, type as string)),
  );
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Writes the values as far as the subset has them; false when some had to be left out. */
export function writeEnum(values: readonly unknown[], out: Schema, notes: GeminiNotes): boolean {
  const plain = values.filter((each) => typeof each === 'string' || typeof each === 'number');
  const others = values.filter((each) => !plain.includes(each as never));
  if (others.length === 0) {
    out.enum = plain;
    out.type ??= typeOfAll(plain);
    return true;
  }
  if (others.every((each) => each === null) && plain.length > 0 && out.anyOf === undefined) {
    const { type: _type, ...rest } = out;
    for (const keyword of Object.keys(out)) delete out[keyword];
    Object.assign(out, rest, { anyOf: [{ type: typeOfAll(plain), enum: plain }, { type: 'null' }] });
    return true;
  }
  const booleans = new Set(others.filter((each) => typeof each === 'boolean'));
  if (plain.length === 0 && booleans.size === others.length) {
    out.type = 'boolean';
    if (booleans.size === 2) return true;
  } else if (others.every((each) => each === null) && plain.length === 0) {
    out.type = 'null';
    return true;
  }
  notes.add('enum', values);
  return false;
}

function typeOfAll(values: readonly unknown[]): string | string[] {
  const types = [
    ...new Set(
      values.map((each) =>
        typeof each === 'string' ? 'string' : Number.isInteger(each) ? 'integer' : 'number',
      ),
    ),
  ];
  return types.length === 1 ? (types[0] as string) : types;
}

/** `exclusiveMinimum: 0` of an integer is `minimum: 1`; of a number it can only be said in words. */
export function openBounds(schema: Schema, out: Schema, relax: (keyword: string) => void): void {
  for (const [open, bound, step] of [
    ['exclusiveMinimum', 'minimum', 1],
    ['exclusiveMaximum', 'maximum', -1],
  ] as const) {
    const value = schema[open];
    if (typeof value !== 'number') continue;
    const isInteger = schema.type === 'integer';
    const closed = !isInteger ? value : step === 1 ? Math.floor(value) + 1 : Math.ceil(value) - 1;
    const present = out[bound] as number | undefined;
    out[bound] =
      present === undefined ? closed : step === 1 ? Math.max(present, closed) : Math.min(present, closed);
    if (!isInteger) relax(open);
  }
}
