/** Arguments as accounts and effects count them: in one exact form, or not at all. */
import { printableLine } from '../../base/index.ts';
import { isObject } from '../../json/index.ts';
import { readPath } from '../sources/index.ts';
import type { OnceDocument } from './documents.ts';

const MAX_VALUES = 64;
const MAX_CHARS = 512;

/** Digits after the point of an amount that can be counted. */
const DIGITS = 9;
const DECIMAL = /^(\d{1,15})(?:\.(\d{1,9}))?$/;

/** An amount in billionths; undefined for what is no decimal of up to 15 digits before and 9 after the point. */
export function toUnits(value: unknown): bigint | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  const [, whole, fraction = ''] = (typeof text === 'string' && DECIMAL.exec(text)) || [];
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(DIGITS, '0'));
}

/** The values at a path, those of lists one by one; undefined where there are none, or too many. */
export function valuesAt(args: unknown, path: string): readonly unknown[] | undefined {
  let values: readonly unknown[] = [args];
  for (const key of readPath(path)) {
    const within = key === undefined ? values : values.flat();
    values = within.flatMap((value) => {
      if (key === undefined) return Array.isArray(value) ? value : [value];
      return isObject(value) && Object.hasOwn(value, key) ? [value[key]] : [undefined];
    });
    if (values.length > MAX_VALUES) return undefined;
  }
  const found = values.flat();
  return found.length === 0 || found.length > MAX_VALUES ? undefined : found;
}

/**
 * What an argument names: the texts, numbers and booleans at a path, of a list in any order. A number and its digits as a
 * text are the same. Undefined for anything else, and for texts that readers may take for another one.
 */
export function nameAt(args: unknown, path: string): readonly string[] | undefined {
  const names = valuesAt(args, path)?.map(toName);
  if (names === undefined || names.includes(undefined)) return undefined;
  return [...new Set(names as string[])].sort();
}

function toName(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string' || value === '' || value.length > MAX_CHARS) return undefined;
  const isPlain =
    value.trim() === value && value.normalize('NFC') === value && printableLine(value) === value;
  return isPlain ? value : undefined;
}

/** The paths in the braces of `refund:{payment_id}`; undefined for braces that are not in pairs. */
export function pathsIn(template: string): readonly string[] | undefined {
  const rest = template.replaceAll(/\{[^{}]+\}/g, '');
  if (/[{}]/.test(rest)) return undefined;
  return [...template.matchAll(/\{([^{}]+)\}/g)].map(([, path = '']) => path);
}

export function listArguments(once: string | OnceDocument): readonly string[] {
  const { key, idempotency_key: taken }: OnceDocument = typeof once === 'string' ? { key: once } : once;
  return [...(pathsIn(key) ?? []), ...(taken === undefined ? [] : [taken])];
}
