import type { TraceRow } from '../../base/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import { SPAN_STATUS, type SpanStatus } from '../../runs/index.ts';
import { formatTable, type TableColumn } from '../terminal/index.ts';

/** The columns of a span that the demo shows. */
type ReportRow = Pick<
  TraceRow,
  | 'span_id'
  | 'parent_span_id'
  | 'span_name'
  | 'start_time'
  | 'end_time'
  | 'tool_name'
  | 'model'
  | 'prompt_tokens'
  | 'completion_tokens'
  | 'cost_usd'
  | 'hallucination_risk_score'
  | 'hallucination_risk_level'
  | 'tool_claim_mismatch'
  | 'fallback_type'
> & { readonly status: SpanStatus };

export const REPORT_SQL = `SELECT span_id::text, parent_span_id::text, span_name,
       to_char(start_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS start_time,
       to_char(end_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS end_time,
       ${SPAN_STATUS} AS status, tool_name, model, prompt_tokens, completion_tokens, cost_usd,
       hallucination_risk_score, hallucination_risk_level, tool_claim_mismatch, fallback_type
  FROM mcp_traces
 WHERE trace_id = $1
 ORDER BY start_time`;

/** Reads one trace back from `mcp_traces`. */
export async function readReport(database: Queryable, traceId: string): Promise<readonly ReportRow[]> {
  const { rows } = await database.query(REPORT_SQL, [traceId]);
  return rows as unknown as ReportRow[];
}

const COLUMNS: readonly TableColumn<ReportRow>[] = [
  { title: 'tool / model', value: (row) => row.tool_name ?? row.model ?? row.span_name },
  { title: 'tokens in', align: 'right', value: (row) => count(row.prompt_tokens) },
  { title: 'out', align: 'right', value: (row) => count(row.completion_tokens) },
  {
    title: 'cost USD',
    align: 'right',
    value: (row) => (row.cost_usd === null ? '-' : row.cost_usd.toFixed(6)),
  },
  {
    title: 'risk',
    align: 'right',
    value: (row) =>
      row.hallucination_risk_score === null
        ? '-'
        : `${row.hallucination_risk_score.toFixed(2)} ${row.hallucination_risk_level}`,
  },
  { title: 'claim against tool', value: (row) => (row.tool_claim_mismatch === true ? 'mismatch' : '-') },
  {
    title: 'gate',
    value: ({ status, fallback_type }) =>
      ['denied', 'held', 'withheld'].includes(status) ? `${status}: ${fallback_type ?? '-'}` : '-',
  },
];

/** The table of tools and models with tokens, cost, risk and gate. */
export function formatReport(rows: readonly ReportRow[]): string {
  return formatTable(
    COLUMNS,
    rows.filter((row) => row.tool_name !== null || row.model !== null),
  );
}

function count(value: number | null): string {
  return value === null ? '-' : String(value);
}
