import { FIELDS, type FieldDefinition } from '../src/base/fields.ts';
import { schemaStatements } from '../src/clickhouse/index.ts';
import { COLLECTOR_CONFIG, collectorConfig } from './collector-config.ts';
import { dashboardFiles } from './dashboards/index.ts';
import { fetchedLocks } from './fetched-locks.ts';
import { handAppliedScript } from './hand-applied-schema.ts';
import { kubernetesConfig } from './kubernetes-config.ts';
import { REDACTION_DOC, redactionDoc } from './redaction-doc.ts';
import { rowJsonSchema } from './row-json-schema.ts';

/** A generated file and its path from the repository root. */
export interface GeneratedFile {
  readonly path: string;
  readonly content: string;
}

/** The files that `npm run generate` writes completely. */
export function generatedFiles(): readonly GeneratedFile[] {
  return [
    { path: 'schema/postgres.sql', content: handAppliedScript() },
    { path: 'schema/clickhouse.sql', content: clickHouseScript() },
    { path: 'docs/fields.md', content: fieldsPage() },
    { path: 'schema/mcp_traces_row.schema.json', content: `${JSON.stringify(rowJsonSchema(), null, 2)}\n` },
    { path: REDACTION_DOC, content: redactionDoc() },
    ...fetchedLocks(),
    ...dashboardFiles(),
    { path: COLLECTOR_CONFIG, content: collectorConfig() },
    { path: 'collector/k8s/config.yaml', content: kubernetesConfig(collectorConfig()) },
  ];
}

/** The tables of ClickHouse as one file for clickhouse-client. */
function clickHouseScript(): string {
  return [
    '-- The tables of mcp-observatory in ClickHouse: clickhouse-client --multiquery < schema/clickhouse.sql',
    '-- Generated from the field dictionary by `npm run generate`; do not edit. It may be applied again, and leaves what',
    '-- `mcp-observatory db migrate --clickhouse-url URL` leaves. On a cluster, docs/clickhouse.md.',
    '',
    ...schemaStatements().map((statement) => `${statement};\n`),
  ].join('\n');
}

/**
 * The README with updated examples: the text between `<!-- example:start FILE -->` and `<!-- example:end -->` is the
 * file of that name in `examples/`, which the tests run.
 */
export function withExamples(readme: string, read: (file: string) => string): string {
  return readme.replace(EXAMPLE, (_, start: string, file: string, end: string) => {
    return `${start}\n\`\`\`ts\n${read(file)}\`\`\`\n${end}`;
  });
}

const EXAMPLE = /(<!-- example:start ([\w.-]+) -->)[\s\S]*?(<!-- example:end -->)/g;

/** The field dictionary as a page of the docs. */
function fieldsPage(): string {
  return [
    '# Fields',
    '',
    'The columns of `mcp_traces`, whose types are in the numbered files of `schema/`. A column is read from `observatory.<field>`,',
    'else from the first of the attributes named here that is set. Generated from `src/base/fields.ts` by',
    '`npm run generate`; do not edit.',
    '',
    ...FIELDS.map((field) => `- \`${field.column}\`: ${field.description}${readFrom(field)}`),
    '',
  ].join('\n');
}

function readFrom({ origin, sources }: FieldDefinition): string {
  if (sources.length === 0 || origin === 'span') return '';
  const names = sources.map((name) => `\`${name}\``).join(', ');
  return origin === 'resource' ? ` (resource ${names})` : ` (${names})`;
}
