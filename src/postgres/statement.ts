import { COLUMNS, FIELDS, type SqlType } from '../base/index.ts';
import type { Scalar } from './coerce.ts';
import type { WireRow } from './wire-row.ts';

/**
 * The one statement that writes spans, whatever their number: each parameter is a whole column as an array literal.
 * The cast by way of text makes every driver send it as it is. A span that is there already is left alone, so sending
 * it twice is harmless.
 */
export const INSERT_STATEMENT: string = [
  `INSERT INTO mcp_traces (${COLUMNS.join(', ')})`,
  `SELECT * FROM unnest(${FIELDS.map((field, i) => `$${i + 1}::text::${field.sqlType}[]`).join(', ')})`,
  'ON CONFLICT DO NOTHING',
].join('\n');

/** A row as elements of array literals, one for each column. */
export interface EncodedRow {
  readonly cells: readonly string[];
  /** Length of all cells together, in UTF-16 units. */
  readonly size: number;
}

/** Encodes one row for {@link insertValues}. */
export function encodeRow({ values }: WireRow): EncodedRow {
  let size = 0;
  const cells = FIELDS.map(({ sqlType }, position) => {
    const cell = elementOf(values[position] ?? null, sqlType);
    size += cell.length;
    return cell;
  });
  return { cells, size };
}

/** The parameters of {@link INSERT_STATEMENT} for these rows. */
export function insertValues(rows: readonly EncodedRow[]): string[] {
  return FIELDS.map((_, column) => `{${rows.map((row) => row.cells[column]).join(',')}}`);
}

function elementOf(value: Scalar | null, sqlType: SqlType): string {
  if (value === null) return 'NULL';
  if (sqlType === 'text' || sqlType === 'jsonb') return quotedText(value as string);
  // String() would write -0 as 0.
  return Object.is(value, -0) ? '-0' : String(value);
}

function quotedText(text: string): string {
  if (!text.includes('"') && !text.includes('\\')) return `"${text}"`;
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
