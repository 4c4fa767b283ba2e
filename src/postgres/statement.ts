import { COLUMNS, FIELDS, type SqlType, type TraceRow } from '../fields.ts';

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

/** JSON text of resources, which all rows of a process share. */
const sharedJson = new WeakMap<object, string>();

/** Encodes one row for {@link insertValues}. */
export function encodeRow(row: TraceRow): EncodedRow {
  let size = 0;
  const cells = FIELDS.map((field) => {
    const cell =
      field.column === 'resource' ? sharedElement(row.resource) : elementOf(row[field.column], field.sqlType);
    size += cell.length;
    return cell;
  });
  return { cells, size };
}

/** The parameters of {@link INSERT_STATEMENT} for these rows. */
export function insertValues(rows: readonly EncodedRow[]): string[] {
  return FIELDS.map((_, column) => `{${rows.map((row) => row.cells[column]).join(',')}}`);
}

function elementOf(value: unknown, sqlType: SqlType): string {
  if (value === null || value === undefined) return 'NULL';
  switch (sqlType) {
    case 'text':
      return quotedText(value as string);
    case 'jsonb':
      // The quotes and backslashes of JSON text are escaped alike in JSON and in an array literal.
      return JSON.stringify(JSON.stringify(value));
    default:
      // String() would write -0 as 0.
      return Object.is(value, -0) ? '-0' : String(value);
  }
}

function sharedElement(value: object): string {
  let element = sharedJson.get(value);
  if (element === undefined) {
    element = elementOf(value, 'jsonb');
    sharedJson.set(value, element);
  }
  return element;
}

function quotedText(text: string): string {
  if (!text.includes('"') && !text.includes('\\')) return `"${text}"`;
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
