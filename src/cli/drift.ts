import { metrics } from '@opentelemetry/api';
import { snakeKeys } from '../base/index.ts';
import {
  type DriftReport,
  type DriftRule,
  driftReport,
  observeDrift,
  type PromptDrift,
} from '../execution/index.ts';
import { DEFAULT_DATA_DIR } from '../postgres/index.ts';
import {
  type Command,
  DATABASE_FLAGS,
  durationFlag,
  EXIT_FAILED,
  EXIT_OK,
  findOpenDatabase,
  numberFlag,
  print,
  readFlags,
} from './command-line/index.ts';
import { formatTable, printableLine, type TableColumn } from './terminal/index.ts';

const HELP = `Usage: mcp-observatory drift [options]

Compares the prompts of the last days with those before, by service and tool: how many distinct ones there are
(normalized_prompt_hash, without ids, times and numbers), and what share is new. New prompts that came with a new
prompt_template_id are explained by it; new prompts without one are drift. Shadow runs are left out.

Exit code 1 when any service and tool exceeds a limit, 0 otherwise and without a limit.

Options:
  --since AGE               the window, up to now: 90m, 12h, 7d or 8w (default 7d)
  --baseline AGE            the period before it to compare with (default: as long as the window)
  --service NAME            only this service
  --tool NAME               only this tool
  --fail-over SHARE         fail when more than this share of the prompts (0 to 1) is unexplained
  --fail-over-growth TIMES  fail when distinct prompts exceed this multiple of the baseline
  --min-prompts N           do not rate fewer prompts (default 20)
  --count-template-changes  for --fail-over, also count prompts explained by a new template
  --database-url URL        Postgres, best without a password; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR            embedded database used without one (default ${DEFAULT_DATA_DIR})
  --json                    print one JSON object instead of text

Where a meter provider is registered (node --import ./telemetry.js ...), the result is also published as the gauges
observatory.drift.alert, .unexplained_share, .new_share and .prompt_hashes.`;

/** `mcp-observatory drift`: whether prompts have drifted. */
export const driftCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values } = readFlags(args, {
      since: { type: 'string', default: '7d' },
      baseline: { type: 'string' },
      service: { type: 'string' },
      tool: { type: 'string' },
      'fail-over': { type: 'string' },
      'fail-over-growth': { type: 'string' },
      'min-prompts': { type: 'string' },
      'count-template-changes': { type: 'boolean', default: false },
      ...DATABASE_FLAGS,
      json: { type: 'boolean', default: false },
    });
    const query = {
      sinceMs: durationFlag('--since', values.since),
      baselineMs: durationFlag('--baseline', values.baseline),
      service: values.service,
      toolName: values.tool,
    };
    const rule: DriftRule = {
      failOver: numberFlag('--fail-over', values['fail-over'], { to: 1 }),
      failOverGrowth: numberFlag('--fail-over-growth', values['fail-over-growth']),
      minPrompts: numberFlag('--min-prompts', values['min-prompts']),
      countTemplateChanges: values['count-template-changes'],
    };
    await using db = await findOpenDatabase(values, io);
    const report = await driftReport(db, query, rule);
    await tellMetrics(report);
    print(io, values.json ? driftJson(db.name, report, rule) : formatDrift(db.name, report));
    return report.isAlert ? EXIT_FAILED : EXIT_OK;
  },
};

/** Flush the gauges now, because the process ends next. */
async function tellMetrics(report: DriftReport): Promise<void> {
  const provider = metrics.getMeterProvider() as { forceFlush?: () => Promise<void> };
  const end = observeDrift(() => report);
  // A failed export must not hide the result; the provider logs it through `diag`.
  await provider.forceFlush?.().catch(() => {});
  end();
}

function formatDrift(database: string, report: DriftReport): string {
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

function driftJson(database: string, report: DriftReport, rule: DriftRule): object {
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
