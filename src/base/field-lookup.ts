/** Fields of the dictionary by column, and the names that their values are read under. */
import { type Column, FIELDS, type FieldDefinition } from './fields.ts';

/** Whether a value of the right type may be stored in a column: shares are 0 to 1, words are of their list. */
export function isWithin(field: FieldDefinition, value: string | number | boolean): boolean {
  // All whole numbers are counts.
  if (field.wireType === 'integer' && !(Number.isSafeInteger(value) && (value as number) >= 0)) return false;
  if (field.isShare === true && !(typeof value === 'number' && value >= 0 && value <= 1)) return false;
  return field.words === undefined || field.words.includes(value as string);
}

/** Looks a field up by its column. */
export function toField(column: Column): FieldDefinition {
  const field = FIELDS_BY_COLUMN.get(column);
  if (field === undefined) throw new RangeError(`No field has the column '${column}'`);
  return field;
}

const FIELDS_BY_COLUMN: ReadonlyMap<string, FieldDefinition> = new Map(FIELDS.map((f) => [f.column, f]));

/**
 * Span attribute names that hold a column's value, in reading order. A span may override a resource column, because one
 * process can record calls of several services.
 */
export function listAttributeNames(field: FieldDefinition): readonly string[] {
  switch (field.origin) {
    case 'attribute':
      return [`observatory.${field.column}`, ...field.sources];
    case 'resource':
      return [`observatory.${field.column}`];
    case 'span':
      return [];
  }
}

/** Resource attribute names that hold a column's value: ids too, which hold for all spans of a process that name none. */
export function listResourceNames(field: FieldDefinition): readonly string[] {
  return field.origin === 'resource' || field.form === 'id' ? field.sources : [];
}
