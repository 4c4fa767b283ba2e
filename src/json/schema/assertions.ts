/** Keywords that look at one value by itself. */
import { canonicalJson } from '../canonical-json.ts';
import { isExactInteger } from '../exact-integers.ts';
import { isObject, type JsonObject } from '../lenient-json.ts';
import { NUMBER_FORMATS, TEXT_FORMATS } from './formats.ts';
import { compilePattern } from './patterns.ts';
import { MisusedKeywordError, SchemaRefusedError, shown } from './refused.ts';
import type { SchemaRun, Validate } from './run.ts';
import { payForWalk, type StepBudget, toSteps } from './steps.ts';

export interface AssertionContext {
  readonly budget: StepBudget;
  readonly checksFormats: boolean;
  /** Unknown formats are refused: a schema of our own side must not hold a typing error. */
  readonly isStrict: boolean;
  /** The schema's `nullable`, of OpenAPI: null fits every type beside it. */
  readonly isNullable: boolean;
  readonly schema: JsonObject;
  /** Notes a pattern that cannot be checked; undefined where one refuses the schema. */
  readonly unchecked?: ((pattern: string) => void) | undefined;
}

/** Compiles one keyword; undefined when it asserts nothing. */
type Assertion = (value: unknown, keyword: string, context: AssertionContext) => Validate | undefined;

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => (typeof value === 'number' && Number.isFinite(value)) || isExactInteger(value),
  integer: (value) => Number.isInteger(value) || isExactInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

function typeCheck(given: unknown, _: string, { isNullable }: AssertionContext): Validate {
  const names: unknown[] = Array.isArray(given) ? given : [given];
  if (isNullable) names.push('null');
  const checks = names.map((name) => {
    if (typeof name === 'string' && Object.hasOwn(TYPES, name))
      return TYPES[name] as (value: unknown) => boolean;
    throw new MisusedKeywordError(`The type ${shown(name)} is not one of JSON Schema`);
  });
  const [first] = checks;
  if (first === undefined) throw new MisusedKeywordError("'type' names no type");
  const message = `must be ${[...new Set(names)].join(',')}`;
  if (checks.length === 1) return (value, run) => first(value) || run.fail(message);
  return (value, run) => checks.some((check) => check(value)) || run.fail(message);
}

/** `const` and `enum`: equal JSON values, whatever the order of their keys. */
function oneOfValues(values: readonly unknown[], message: string, budget: StepBudget): Validate {
  const scalars = new Set<unknown>();
  const containers = new Set<string>();
  for (const value of values) {
    budget.spend(4);
    if (typeof value === 'object' && value !== null) containers.add(readText(value, budget));
    else scalars.add(value);
  }
  return (value, run) => {
    if (typeof value === 'string') run.budget.spend(value.length / 64);
    const isOne =
      typeof value === 'object' && value !== null
        ? containers.size > 0 && containers.has(readText(value, run.budget))
        : scalars.has(value);
    return isOne || run.fail(message);
  };
}

function readText(value: unknown, budget: StepBudget): string {
  payForWalk(value, budget);
  return canonicalJson(value, { loneSurrogates: 'escape' });
}

function uniqueItems(given: unknown, keyword: string): Validate | undefined {
  if (typeof given !== 'boolean') throw misused(keyword, 'true or false');
  if (!given) return undefined;
  return (value, run) => {
    if (!Array.isArray(value)) return true;
    const scalars = new Set<unknown>();
    const containers = new Set<string>();
    for (const item of value) {
      const isContainer = typeof item === 'object' && item !== null;
      run.budget.spend(typeof item === 'string' ? 4 + toSteps(item) : 6);
      const seen: Set<unknown> = isContainer ? containers : scalars;
      const key: unknown = isContainer ? readText(item, run.budget) : item;
      if (seen.has(key)) return run.fail('must NOT have duplicate items');
      seen.add(key);
    }
    return true;
  };
}

function bound(isIn: (value: Comparable, limit: Comparable) => boolean, sign: string): Assertion {
  return (given, keyword) => {
    const limit = comparable(given);
    if (limit === undefined) throw misused(keyword, 'a number');
    if (keyword === 'multipleOf' && limit <= 0) throw misused(keyword, 'a number above 0');
    const message = `must be ${sign} ${limit}`;
    return (value, run) => {
      const number = comparable(value);
      return number === undefined || isIn(number, limit) || run.fail(message);
    };
  };
}

/** JavaScript compares numbers and BigInts exactly. */
type Comparable = number | bigint;

function comparable(value: unknown): Comparable | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  return isExactInteger(value) ? BigInt(value) : undefined;
}

/** Whether a number is a multiple of another as both are written: 19.99 is one of 0.01. */
function isMultiple(value: Comparable, divisor: Comparable): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor))
    return (value as number) % (divisor as number) === 0;
  const [left, right] = [decimal(value), decimal(divisor)];
  const scale = left.exponent - right.exponent;
  return scale < 0
    ? left.digits % (right.digits * 10n ** BigInt(-scale)) === 0n
    : (left.digits * 10n ** BigInt(scale)) % right.digits === 0n;
}

/** A number as whole digits and a power of ten, as it is written. */
function decimal(value: Comparable): { readonly digits: bigint; readonly exponent: number } {
  const [mantissa = '0', power = '0'] = String(value).split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}

/** `exclusiveMinimum` and `exclusiveMaximum`; in draft-04 a boolean that sharpens `minimum` or `maximum`. */
function exclusive(
  inclusive: 'minimum' | 'maximum',
  isIn: (value: Comparable, limit: Comparable) => boolean,
  sign: string,
): Assertion {
  const make = bound(isIn, sign);
  return (given, keyword, context) => {
    if (typeof given !== 'boolean') return make(given, keyword, context);
    const limit = context.schema[inclusive];
    return given && limit !== undefined ? make(limit, keyword, context) : undefined;
  };
}

/** A bound on the size of a text, array or object; `sizeOf` is undefined for values of another type. */
function size(
  sizeOf: (value: unknown, run: SchemaRun) => number | undefined,
  isMax: boolean,
  unit: string,
): Assertion {
  return (given, keyword) => {
    if (typeof given !== 'number' || !Number.isInteger(given) || given < 0) {
      throw misused(keyword, 'a whole number from 0');
    }
    const message = `must NOT have ${isMax ? 'more' : 'fewer'} than ${given} ${unit}`;
    return (value, run) => {
      const found = sizeOf(value, run);
      return found === undefined || (isMax ? found <= given : found >= given) || run.fail(message);
    };
  };
}

/** Length in Unicode code points. */
function countChars(value: unknown, { budget }: SchemaRun): number | undefined {
  if (typeof value !== 'string') return undefined;
  budget.spend(1 + value.length / 4);
  let chars = value.length;
  for (let at = 0; at < value.length - 1; at += 1) {
    if ((value.charCodeAt(at) & 0xfc00) !== 0xd800 || (value.charCodeAt(at + 1) & 0xfc00) !== 0xdc00)
      continue;
    chars -= 1;
    at += 1;
  }
  return chars;
}

const countItems = (value: unknown): number | undefined => (Array.isArray(value) ? value.length : undefined);

function readKeys(value: unknown, { budget }: SchemaRun): number | undefined {
  if (!isObject(value)) return undefined;
  const { length } = Object.keys(value);
  budget.spend(length);
  return length;
}

function required(given: unknown, keyword: string, { budget }: AssertionContext): Validate | undefined {
  const names = readNames(given, keyword);
  budget.spend(names.length);
  if (names.length === 0) return undefined;
  return (value, run) => (isObject(value) ? hasAll(value, names, run) : true);
}

/** Notes the first name that is not an own key. */
export function hasAll(value: object, names: readonly string[], run: SchemaRun): boolean {
  run.budget.spend(names.length);
  for (const name of names) {
    if (!Object.hasOwn(value, name)) return run.fail(`must have required property '${name.slice(0, 100)}'`);
  }
  return true;
}

/** @throws SchemaRefusedError unless it is a list of texts. */
export function readNames(given: unknown, keyword: string): readonly string[] {
  if (!Array.isArray(given) || !given.every((name) => typeof name === 'string')) {
    throw misused(keyword, 'a list of names');
  }
  return given as readonly string[];
}

function pattern(given: unknown, keyword: string, context: AssertionContext): Validate | undefined {
  if (typeof given !== 'string') throw misused(keyword, 'a regular expression');
  const test = compilePattern(given, context.budget, context.unchecked);
  if (test === undefined) return undefined;
  const message = `must match pattern "${given.slice(0, 100)}"`;
  return (value, run) => typeof value !== 'string' || test(value, run.budget) || run.fail(message);
}

function format(given: unknown, keyword: string, context: AssertionContext): Validate | undefined {
  if (typeof given !== 'string') throw misused(keyword, 'the name of a format');
  const text = TEXT_FORMATS.get(given);
  const number = NUMBER_FORMATS.get(given);
  if (context.isStrict && text === undefined && number === undefined) {
    throw new SchemaRefusedError(`The format ${shown(given)} is not known`);
  }
  if (!context.checksFormats) return undefined;
  const message = `must match format "${given.slice(0, 100)}"`;
  if (number !== undefined) {
    return (value, run) => typeof value !== 'number' || number(value) || run.fail(message);
  }
  if (text === undefined) return undefined;
  return (value, run) => {
    if (typeof value !== 'string') return true;
    run.budget.spend(10 + value.length / 2);
    return text(value) || run.fail(message);
  };
}

export function misused(keyword: string, wanted: string): MisusedKeywordError {
  return new MisusedKeywordError(`'${keyword}' takes ${wanted}`);
}

/** In the order of their cost. */
export const ASSERTIONS: ReadonlyMap<string, Assertion> = new Map<string, Assertion>([
  ['type', typeCheck],
  ['const', (given, _, { budget }) => oneOfValues([given], 'must be equal to constant', budget)],
  [
    'enum',
    (given, keyword, { budget }) => {
      if (!Array.isArray(given)) throw misused(keyword, 'a list of values');
      return oneOfValues(given, 'must be equal to one of the allowed values', budget);
    },
  ],
  ['minimum', bound((value, limit) => value >= limit, '>=')],
  ['maximum', bound((value, limit) => value <= limit, '<=')],
  ['exclusiveMinimum', exclusive('minimum', (value, limit) => value > limit, '>')],
  ['exclusiveMaximum', exclusive('maximum', (value, limit) => value < limit, '<')],
  ['multipleOf', bound(isMultiple, 'multiple of')],
  ['minItems', size(countItems, false, 'items')],
  ['maxItems', size(countItems, true, 'items')],
  ['minProperties', size(readKeys, false, 'properties')],
  ['maxProperties', size(readKeys, true, 'properties')],
  ['required', required],
  ['minLength', size(countChars, false, 'characters')],
  ['maxLength', size(countChars, true, 'characters')],
  ['format', format],
  ['pattern', pattern],
  ['uniqueItems', uniqueItems],
]);
