import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { FIELDS, type TraceRow } from '../../src/base/index.ts';
import { RowEncoder } from '../../src/postgres/row-encoder.ts';
import { resolveRowLimits } from '../../src/postgres/row-limits.ts';

const encoder = new RowEncoder(resolveRowLimits({}));

/**
 * One span as a row of `mcp_traces`, as `PostgresSpanExporter` stores it with its default limits.
 *
 * @throws ObservatoryError `INVALID_INPUT` when the trace or span id is not valid: such a row has no key.
 */
export function spanToRow(span: ReadableSpan): TraceRow {
  const { values } = encoder.values(span);
  const row: Record<string, unknown> = {};
  FIELDS.forEach(({ column, sqlType }, position) => {
    const value = values[position];
    row[column] = sqlType === 'jsonb' ? JSON.parse(value as string) : value;
  });
  return row as TraceRow;
}
