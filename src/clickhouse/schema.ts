/**
 * The tables of spans in ClickHouse, derived from the field dictionary as the Postgres columns are: the same names, and
 * the types that hold the same values.
 */
import { type Column, FIELDS, type FieldDefinition, type SqlType } from '../base/index.ts';

const TYPES: Readonly<Record<SqlType, string>> = {
  uuid: 'UUID',
  text: 'String',
  timestamptz: "DateTime64(6, 'UTC')",
  integer: 'Int32',
  'double precision': 'Float64',
  boolean: 'Bool',
  // As text, because ClickHouse's JSON type drops nulls and empty objects and turns whole floats into integers.
  jsonb: 'String',
};

/** Texts that differ from span to span; the other texts are stored once for each part, as numbers. */
const VARIED_TEXTS: ReadonlySet<Column> = new Set<Column>([
  'prompt_hash',
  'normalized_prompt_hash',
  'answer_hash',
  'fallback_reason',
  'status_message',
  'session_id',
  'conversation_id',
  'response_id',
  'policy_reason',
  'tool_args_hash',
  'verifier_reason',
  'evidence_findings',
  'user_id',
  'connection_id',
  'run_id',
  'offered_tools_list',
]);

/**
 * Rows of equal key are one span. The order answers what is asked most: a service over a time. It decides which rows are
 * neighbors, and so how well they compress.
 */
export const SORTING_KEY: readonly Column[] = ['service', 'start_time', 'trace_id', 'span_id'];

const FIELDS_BY_LINE: readonly FieldDefinition[] = FIELDS;

/** The statements that make the tables, or add what a newer version of this package needs. They may run again. */
export function schemaStatements(): string[] {
  return [
    `CREATE TABLE IF NOT EXISTS mcp_traces (\n${[...FIELDS_BY_LINE.map(formatColumn), ...INDEXES].map((line) => `  ${line}`).join(',\n')}\n)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(start_time)
ORDER BY (${SORTING_KEY.join(', ')})
SETTINGS
  allow_nullable_key = 1,
  -- Batches whose repetition is recognized before it is written.
  non_replicated_deduplication_window = 1000,
  -- Days expire whole.
  ttl_only_drop_parts = 1
COMMENT 'OpenTelemetry spans of MCP and model traffic, one row each; written by mcp-observatory'`,
    `ALTER TABLE mcp_traces\n${addedColumns().join(',\n')}`,
    `CREATE OR REPLACE VIEW mcp_traces_hex AS
SELECT\n${FIELDS_BY_LINE.map(inHex)
      .map((cell) => `  ${cell}`)
      .join(',\n')}
FROM mcp_traces FINAL`,
  ];
}

/** Lets days expire: their rows are deleted when the last span of the day is older. */
export function retentionStatement(days: number): string {
  return `ALTER TABLE mcp_traces MODIFY TTL toDateTime(start_time) + INTERVAL ${days} DAY`;
}

const INDEXES = [
  'INDEX mcp_traces_trace_id trace_id TYPE bloom_filter(0.001) GRANULARITY 1',
  'INDEX mcp_traces_run_id run_id TYPE bloom_filter(0.01) GRANULARITY 1',
  'INDEX mcp_traces_session_id session_id TYPE bloom_filter(0.01) GRANULARITY 1',
];

function formatColumn({ column, sqlType, notNull, description }: FieldDefinition): string {
  return `${column} ${readType(column as Column, sqlType, notNull)} CODEC(${pickCodec(sqlType)}) COMMENT '${description.replaceAll("'", "''")}'`;
}

function readType(column: Column, sqlType: SqlType, notNull: boolean): string {
  const type = notNull ? TYPES[sqlType] : `Nullable(${TYPES[sqlType]})`;
  return sqlType === 'text' && !VARIED_TEXTS.has(column) ? `LowCardinality(${type})` : type;
}

function pickCodec(sqlType: SqlType): string {
  return sqlType === 'timestamptz' ? 'Delta(8), ZSTD(1)' : 'ZSTD(1)';
}

/** Columns of the key cannot be added to a table. */
function addedColumns(): string[] {
  return FIELDS_BY_LINE.flatMap((field, i) => {
    const before = FIELDS_BY_LINE[i - 1];
    if (before === undefined || SORTING_KEY.includes(field.column as Column)) return [];
    return `  ADD COLUMN IF NOT EXISTS ${formatColumn(field)} AFTER ${before.column}`;
  });
}

/** Ids as OpenTelemetry writes them; a span id is the second half of its UUID. */
function inHex({ column, sqlType }: FieldDefinition): string {
  if (sqlType !== 'uuid') return column;
  const hex = `replaceAll(toString(${column}), '-', '')`;
  return column === 'span_id' || column === 'parent_span_id'
    ? `substring(${hex}, 17) AS ${column}`
    : `${hex} AS ${column}`;
}
