import { snakeKeys } from '../base/index.ts';
import type { DriftReport, DriftRule, PromptDrift } from '../execution/index.ts';
import { formatTable, printableLine, type TableColumn } from './terminal/index.ts';

/** A report as text for people. */
export function formatDrift(database: string, report: DriftReport): string {
  const { baselineFrom, from, until, groups, isAlert } = report;
  const times = `${day(from)} to ${day(until)}, compared with ${day(baselineFrom)} to ${day(from)}`;
  const head = `${printableLine(database)}: prompts of ${times}`;
  if (groups.length === 0) return `${head}\nno prompts`;
  return [
    head,
    '',
    formatTable(COLUMNS, groups),
    ...changes(groups),
    '',
    isAlert ? 'Prompts drift.' : 'No alert.',
  ].join('\n');
}

/** A report as a wire document. */
export function driftJson(database: string, report: DriftReport, rule: DriftRule): object {
  return {
    database,
    baseline_from: report.baselineFrom.toISOString(),
    from: report.from.toISOString(),
    until: report.until.toISOString(),
    fail_over: rule.failOver ?? null,
    fail_over_growth: rule.failOverGrowth ?? null,
    alert: report.isAlert,
    groups: report.groups.map((group) => ({
      ...snakeKeys(group),
      template_changes: group.templateChanges.map((change) => snakeKeys(change)),
    })),
  };
}

const COLUMNS: readonly TableColumn<PromptDrift>[] = [
  { title: 'service', value: ({ service }) => shown(service) },
  { title: 'tool', value: ({ toolName }) => shown(toolName) },
  { title: 'prompts', align: 'right', value: ({ prompts }) => String(prompts) },
  { title: 'distinct', align: 'right', value: ({ hashes }) => String(hashes) },
  { title: 'before', align: 'right', value: ({ baselineHashes }) => String(baselineHashes) },
  { title: 'new', align: 'right', value: ({ newShare }) => percent(newShare) },
  { title: 'unexplained', align: 'right', value: ({ driftShare }) => percent(driftShare) },
  { title: 'status', value: ({ status }) => status },
];

function changes(groups: readonly PromptDrift[]): string[] {
  const lines = groups.flatMap(({ service, toolName, templateChanges }) =>
    templateChanges.map(
      ({ promptTemplateId, firstSeen, prompts, newHashes }) =>
        `new template ${shown(promptTemplateId)} since ${firstSeen.slice(0, 16)} (${shown(service)}, ${shown(toolName)}): ` +
        `${newHashes} new prompts in ${prompts} calls`,
    ),
  );
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Names are untrusted: they come from the senders of spans. */
function shown(name: string | null): string {
  return name === null ? '(none)' : printableLine(name);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function day(time: Date): string {
  return time.toISOString().slice(0, 16);
}
