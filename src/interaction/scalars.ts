import { type AttributeColumn, attributeNamesOf, FIELDS } from '../fields.ts';
import type { UnknownRecord } from './json.ts';

/** Names a column is read from, worked out once. */
const NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  FIELDS.filter((field) => field.origin === 'attribute').map((field) => [
    field.column,
    attributeNamesOf(field),
  ]),
);

/** Reads a column that holds text from a span's attributes, under any name a dialect gives it. */
export function readTextField(attributes: UnknownRecord, column: AttributeColumn): string | undefined {
  for (const name of NAMES.get(column) ?? []) {
    const value = attributes[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

/** Reads a column that holds a count (whole, from 0 up) from a span's attributes; values of other types are passed over. */
export function readCountField(attributes: UnknownRecord, column: AttributeColumn): number | undefined {
  for (const name of NAMES.get(column) ?? []) {
    const value = attributes[name];
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  }
  return undefined;
}

/** Whether a span's attributes already give a column this value, under whatever name is read first. */
export function hasFieldValue(attributes: UnknownRecord, column: AttributeColumn, value: unknown): boolean {
  for (const name of NAMES.get(column) ?? []) {
    if (attributes[name] !== undefined) return attributes[name] === value;
  }
  return false;
}
