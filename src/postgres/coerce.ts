import { type FieldDefinition, isWithin, type SqlType } from '../base/index.ts';
import { parseContainerOrKeep } from '../json/index.ts';
import { canonicalUuid } from './ids.ts';

/** Range of the SQL type `integer`. */
const INT4_MIN = -2_147_483_648;
const INT4_MAX = 2_147_483_647;

/** Text columns in a B-tree index, whose entries may not exceed 2,704 bytes. */
const INDEXED_TEXT_COLUMNS: ReadonlySet<string> = new Set([
  'service',
  'model',
  'prompt_hash',
  'normalized_prompt_hash',
  'tool_name',
  'session_id',
  'conversation_id',
  'run_id',
]);

/** UTF-16 units an indexed text may have: at most 1,536 bytes of UTF-8. */
const MAX_INDEXED_TEXT = 512;

/** A column value from an attribute. */
export type Scalar = string | number | boolean;

/** The values a column accepts. One object shape for all fields, because it is read for each attribute of each span. */
export interface Coercion {
  readonly sqlType: SqlType;
  readonly isIndexed: boolean;
  readonly form: FieldDefinition['form'];
  /** The field, if it does not take every value of its type. */
  readonly bounded: FieldDefinition | undefined;
}

export function coercionTo(field: FieldDefinition): Coercion {
  const { column, sqlType, isShare, words, form } = field;
  const isBounded = isShare !== undefined || words !== undefined || sqlType === 'integer';
  return {
    sqlType,
    isIndexed: INDEXED_TEXT_COLUMNS.has(column),
    form,
    bounded: isBounded ? field : undefined,
  };
}

/**
 * The value for the column, or `undefined` if it does not fit; it then stays in the `attributes` JSON.
 *
 * Shares are 0 to 1, and a column with a list of words takes no other. Nothing is guessed: the text '1' is not a number,
 * and 0 is not false. Integer columns accept counts of 31 bits, float columns finite numbers, because NaN is not
 * JSON. Text columns also accept a list of texts, joined by commas, and ids a whole number. uuid columns accept a UUID
 * in any case, or the 32 hex digits of a trace id. Text that is too long for the column or its index does not fit.
 */
export function coerce(value: unknown, to: Coercion, maxColumnChars: number): Scalar | undefined {
  const scalar = ofType(value, to, maxColumnChars);
  if (scalar === undefined || to.bounded === undefined) return scalar;
  return isWithin(to.bounded, scalar) ? scalar : undefined;
}

function ofType(value: unknown, to: Coercion, maxColumnChars: number): Scalar | undefined {
  switch (to.sqlType) {
    case 'text':
      return coerceText(textIn(value, to, maxColumnChars), to.isIndexed, maxColumnChars);
    case 'integer':
      return Number.isInteger(value) && isWithinInt4(value as number) ? (value as number) : undefined;
    case 'double precision':
      return Number.isFinite(value) ? (value as number) : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'uuid':
      return typeof value === 'string' ? canonicalUuid(value) : undefined;
    default:
      return undefined;
  }
}

function coerceText(value: unknown, isIndexed: boolean, maxColumnChars: number): string | undefined {
  const text = typeof value === 'string' ? value : joined(value, maxColumnChars);
  if (text === undefined || text.length > maxColumnChars) return undefined;
  return text.length > MAX_INDEXED_TEXT && isIndexed ? undefined : text;
}

function textIn(value: unknown, { form }: Coercion, maxColumnChars: number): unknown {
  if (form === 'id') return readId(value);
  const isShort = typeof value === 'string' && value.length <= maxColumnChars;
  if (form !== 'list' || !isShort) return value;
  return joined(parseContainerOrKeep(value), maxColumnChars) ?? value;
}

/**
 * The digits of a whole number; of a large one, all that it has and not those that it is shown with. No id is how a language
 * prints that there is none.
 */
function readId(value: unknown): unknown {
  if (typeof value === 'string' && /^(?:none|null|undefined)$/i.test(value)) return undefined;
  return typeof value === 'bigint' || Number.isInteger(value) ? BigInt(value as number).toString() : value;
}

function joined(value: unknown, maxItems: number): string | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxItems) return undefined;
  return value.every((item) => typeof item === 'string') ? value.join(',') : undefined;
}

function isWithinInt4(value: number): boolean {
  return value >= INT4_MIN && value <= INT4_MAX;
}
