import { snakeKeys } from '../base/index.ts';
import type { SpoolStatus } from '../durable/index.ts';
import { type DatabaseStatus, firstNames, type NamedCount, type TableStatus } from '../postgres/index.ts';
import { printableLine } from './terminal/index.ts';

const ADVICE = {
  current: '',
  missing: 'not there. Run: npx mcp-observatory db migrate',
  incomplete: 'not whole. Run: npx mcp-observatory db migrate',
  behind: 'older than this version of mcp-observatory. Run: npx mcp-observatory db migrate',
  too_new: 'newer than this version of mcp-observatory. Run: npm install mcp-observatory@latest',
} as const;

export function formatStatus(database: string, status: DatabaseStatus, spool?: SpoolStatus): string {
  const advice = ADVICE[status.state];
  const version = `version ${status.schemaVersion}, code knows ${status.codeVersion}`;
  const lines: [string, string][] = [
    ['database', `${database} (PostgreSQL ${status.serverVersion})`],
    ['schema', advice === '' ? version : `${version}: ${advice}`],
    ...(status.missing.length === 0
      ? []
      : [['missing', firstNames(status.missing)] satisfies [string, string]]),
    ...(status.table === undefined ? [] : tableLines(status.table)),
    ...(spool === undefined ? [] : [['spool', formatSpool(spool)] satisfies [string, string]]),
  ];
  return lines.map(([label, text]) => `${label.padEnd(9)} ${printableLine(text)}`).join('\n');
}

export function statusJson({ table, ...status }: DatabaseStatus): object {
  if (table === undefined) return snakeKeys(status);
  return {
    ...snakeKeys(status),
    ...snakeKeys(table),
    services: table.services.map(({ name, rows }) => ({ service: name, rows })),
    models: table.models.map(({ name, rows }) => ({ model: name, rows })),
  };
}

function tableLines(table: TableStatus): [string, string][] {
  const perSpan = table.bytesPerSpan === null ? '' : `, ${table.bytesPerSpan} bytes per span`;
  const ahead =
    table.aheadRows === 0 ? '' : `, ${table.aheadRows} of them dated more than a day ahead, by a wrong clock`;
  return [
    ['spans', `${table.rows}${ahead}`],
    ['from', table.firstStartTime ?? '-'],
    ['to', table.lastStartTime ?? '-'],
    ['calls', `${table.modelCalls} to models, ${table.untemplatedCalls} of them without a prompt template`],
    ['lag', formatLag(table.lagSeconds)],
    ['size', `table ${formatBytes(table.tableBytes)}, indexes ${formatBytes(table.indexBytes)}${perSpan}`],
    ['parts', formatPartitions(table)],
    ['services', formatCounts(table.services)],
    ['models', formatCounts(table.models)],
  ];
}

function formatPartitions({ partitions, defaultPartitionRows, deadRows, deadShare }: TableStatus): string {
  const days = partitions.flatMap(({ from, to }) =>
    from !== null && to !== null ? [from.slice(0, 10)] : [],
  );
  const range = days.length === 0 ? 'none' : `${days.length} days, ${days[0]} to ${days.at(-1)}`;
  return `${range}; about ${defaultPartitionRows} rows in none of them, ${deadRows} dead (${(100 * deadShare).toFixed(1)} %)`;
}

function formatLag(seconds: number | null): string {
  return seconds === null ? '-' : `${seconds.toFixed(1)} s since the newest span ended`;
}

function formatSpool({ spans, files, bytes, oldest, unreadableBytes, refusedBytes }: SpoolStatus): string {
  const since = oldest === null ? '' : `, the oldest from ${oldest}`;
  const refused = refusedBytes === 0 ? '' : `; ${formatBytes(refusedBytes)} of spans that were refused`;
  const unreadable =
    unreadableBytes === 0
      ? ''
      : `; ${formatBytes(unreadableBytes)} that cannot be read, in the folder unreadable`;
  return `${spans} spans wait in ${files} files, ${formatBytes(bytes)}${since}${refused}${unreadable}`;
}

function formatCounts(counts: readonly NamedCount[]): string {
  return counts.map(({ name, rows }) => `${name ?? '(none)'} ${rows}`).join(', ') || '-';
}

function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
