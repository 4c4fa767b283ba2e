import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { FIELDS, type TraceRow } from '../base/index.ts';
import { DEFAULT_ROW_LIMITS } from './row-limits.ts';
import { WireRowReader } from './wire-row.ts';

const reader = new WireRowReader(DEFAULT_ROW_LIMITS);

/**
 * One span as a row of `mcp_traces`, as `PostgresSpanExporter` stores it with its default limits.
 *
 * A column is filled from `observatory.<column>`, else from the first of its sources that has a value of the column's
 * type. `attributes` holds what no column tells, and names under `observatory.sanitised` and `observatory.truncated`
 * what could not be kept as it was.
 *
 * @throws ObservatoryError `INVALID_INPUT` when the trace or span id is not valid: such a row has no key.
 */
export function spanToRow(span: ReadableSpan): TraceRow {
  const { values } = reader.read(span);
  const row: Record<string, unknown> = {};
  FIELDS.forEach(({ column, sqlType }, position) => {
    const value = values[position];
    row[column] = sqlType === 'jsonb' ? JSON.parse(value as string) : value;
  });
  return row as TraceRow;
}
