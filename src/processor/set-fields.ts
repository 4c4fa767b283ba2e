import type { Attributes, AttributeValue } from '@opentelemetry/api';
import { type AttributeColumn, attributeOf, type FieldValues, fieldOf } from '../base/index.ts';
import { hasFieldValue } from '../interaction/index.ts';

/** A span with readable attributes, such as the SDK's. */
export interface WritableSpan {
  readonly attributes: Readonly<Record<string, unknown>>;
  setAttribute(key: string, value: AttributeValue): unknown;
}

/** Field values as attributes: `{prompt_hash}` -> `{'observatory.prompt_hash'}`. */
export function toAttributes(values: FieldValues): Attributes {
  const attributes: Attributes = {};
  for (const [column, value] of entriesOf(values)) attributes[attributeOf(column)] = value;
  return attributes;
}

/**
 * Sets field values as attributes of a span. Existing values are kept, and values present under a standard name are not
 * repeated: reported tokens stay in `gen_ai.usage.*` only.
 *
 * @returns the values dropped because of the span's attribute limit.
 */
export function setFields(span: WritableSpan, values: FieldValues): FieldValues {
  let dropped: Record<string, unknown> | undefined;
  for (const key in values) {
    const column = key as AttributeColumn;
    const value = values[column];
    if (value === undefined) continue;
    const name = attributeOf(column);
    if (span.attributes[name] !== undefined || hasFieldValue(span.attributes, column, value)) continue;
    span.setAttribute(name, value);
    if (span.attributes[name] !== undefined) continue;
    dropped ??= {};
    dropped[column] = value;
  }
  return (dropped ?? NONE) as FieldValues;
}

const NONE: FieldValues = Object.freeze({});

/** The first `count` values. */
export function takeFields(values: FieldValues, count: number): FieldValues {
  return Object.fromEntries(entriesOf(values).slice(0, count)) as FieldValues;
}

/** The number of values. */
export function countFields(values: FieldValues): number {
  return values === NONE ? 0 : entriesOf(values).length;
}

/** Field values of the type in the dictionary, and the columns of the rest. */
export function checkFields(values: FieldValues): { values: FieldValues; refused: AttributeColumn[] } {
  const refused = entriesOf(values)
    .filter(([column, value]) => !isOfType(column, value))
    .map(([column]) => column);
  if (refused.length === 0) return { values, refused };
  const good = entriesOf(values).filter(([column]) => !refused.includes(column));
  return { values: Object.fromEntries(good) as FieldValues, refused };
}

function isOfType(column: AttributeColumn, value: unknown): boolean {
  switch (fieldOf(column).wireType) {
    case 'integer':
      return Number.isSafeInteger(value);
    case 'number':
      return Number.isFinite(value);
    case 'boolean':
      return typeof value === 'boolean';
    default:
      return typeof value === 'string';
  }
}

function entriesOf(values: FieldValues): [AttributeColumn, AttributeValue][] {
  return (Object.entries(values) as [AttributeColumn, AttributeValue | undefined][]).filter(
    (entry): entry is [AttributeColumn, AttributeValue] => entry[1] !== undefined,
  );
}
