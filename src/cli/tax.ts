import { snakeKeys } from '../base/index.ts';
import { DEFAULT_DATA_DIR, refreshRollups } from '../postgres/index.ts';
import { contextTax, formatUsd, type TaxedTool, type TaxReport } from '../runs/index.ts';
import {
  type Command,
  DATABASE_FLAGS,
  durationFlag,
  EXIT_FAILED,
  EXIT_OK,
  findOpenDatabase,
  ifAllowed,
  numberFlag,
  print,
  readFlags,
  wordFlag,
} from './command-line/index.ts';
import { formatTable, printableLine, type TableColumn } from './terminal/index.ts';

const HELP = `Usage: mcp-observatory tax [options]

The context tax: what the definitions of tools cost of the model calls that offer them, by server and tool, and which
tools were offered and never used. From live calls; docs/context-tax.md says how tokens are counted.

Exit code 1 when the limit of --fail-over is exceeded, 0 otherwise and without a limit.

Options:
  --since AGE           the window, up to now and in whole hours: 90m, 12h, 7d or 8w (default 7d)
  --model NAME          only calls of this model
  --server NAME         only tools of this server
  --unused              only tools that were never called
  --by tool|server      a line for each tool (default) or server
  --limit N             lines at most (default 50)
  --fail-over SHARE     fail when definitions take more than this share of the input tokens (0 to 1)
  --database-url URL    Postgres, best without a password; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR        embedded database used without one (default ${DEFAULT_DATA_DIR})
  --json                print one JSON object instead of text`;

const DEFAULT_LIMIT = 50;

/** `mcp-observatory tax`: what tool definitions cost. */
export const taxCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values } = readFlags(args, {
      since: { type: 'string', default: '7d' },
      model: { type: 'string' },
      server: { type: 'string' },
      unused: { type: 'boolean', default: false },
      by: { type: 'string', default: 'tool' },
      limit: { type: 'string' },
      'fail-over': { type: 'string' },
      ...DATABASE_FLAGS,
      json: { type: 'boolean', default: false },
    });
    const by = wordFlag('--by', ['tool', 'server'], values.by);
    const untilMs = Date.now();
    const sinceMs = untilMs - durationFlag('--since', values.since);
    const limit = numberFlag('--limit', values.limit, { from: 1, to: 5000, whole: true }) ?? DEFAULT_LIMIT;
    const failOver = numberFlag('--fail-over', values['fail-over'], { to: 1 });
    await using db = await findOpenDatabase(values, io);
    await ifAllowed(() => refreshRollups(db));
    const report = await contextTax(db, { sinceMs, untilMs, model: values.model });
    const tools = report.tools
      .filter(({ server }) => values.server === undefined || server === values.server)
      .filter(({ used }) => !values.unused || used === 0);
    const lines = (by === 'server' ? byServer(tools) : tools).slice(0, limit);
    print(
      io,
      values.json
        ? {
            database: db.name,
            from: new Date(sinceMs).toISOString(),
            until: new Date(untilMs).toISOString(),
            ...taxJson(report, by, lines),
          }
        : formatTax(db.name, report, by, lines),
    );
    return failOver !== undefined && computeShare(report) > failOver ? EXIT_FAILED : EXIT_OK;
  },
};

interface TaxLine extends TaxedTool {
  readonly tools?: number | undefined;
  /** Of them, tools that were never called. */
  readonly unused?: number | undefined;
}

function byServer(tools: readonly TaxedTool[]): readonly TaxLine[] {
  const servers = new Map<string, TaxLine>();
  for (const tool of tools) {
    const sum = servers.get(tool.server);
    servers.set(tool.server, {
      server: tool.server,
      tool: '',
      offered: Math.max(sum?.offered ?? 0, tool.offered),
      used: (sum?.used ?? 0) + tool.used,
      tokens: (sum?.tokens ?? 0) + tool.tokens,
      costUsd: (sum?.costUsd ?? 0) + tool.costUsd,
      tools: (sum?.tools ?? 0) + 1,
      unused: (sum?.unused ?? 0) + (tool.used === 0 ? 1 : 0),
    });
  }
  return [...servers.values()].sort((a, b) => b.tokens - a.tokens);
}

const computeShare = ({ tokens, promptTokens }: TaxReport): number =>
  promptTokens === 0 ? 0 : tokens / promptTokens;

function taxJson(
  { tools: _, ...totals }: TaxReport,
  by: 'tool' | 'server',
  lines: readonly TaxLine[],
): object {
  const rows = lines.map(({ tool, ...line }) => snakeKeys(by === 'tool' ? { ...line, tool } : line));
  return {
    ...snakeKeys(totals),
    share: computeShare({ ...totals, tools: [] }),
    [by === 'tool' ? 'tools' : 'servers']: rows,
  };
}

function formatTax(
  database: string,
  report: TaxReport,
  by: 'tool' | 'server',
  lines: readonly TaxLine[],
): string {
  const { calls, tokens, promptTokens, costUsd, unpriced, otherTokens } = report;
  if (calls === 0) return printableLine(`${database}: no model calls that offered tools`);
  const head = printableLine(
    `${database}: definitions took ${count(tokens)} of ${count(promptTokens)} input tokens ` +
      `(${(100 * computeShare(report)).toFixed(1)} %) of ${calls} model calls, ${formatUsd(costUsd)}` +
      (unpriced === 0 ? '' : `, ${unpriced} calls without a price`),
  );
  const rest = `${count(otherTokens)} tokens are the providers' own addition, or of tools that are not known.`;
  return [head, '', formatTable(by === 'tool' ? TOOL_COLUMNS : SERVER_COLUMNS, lines), '', rest].join('\n');
}

const count = (value: number): string => Math.round(value).toLocaleString('en-US');
const perCall = ({ tokens, offered }: TaxLine): string => count(offered === 0 ? 0 : tokens / offered);

const FIGURES: readonly TableColumn<TaxLine>[] = [
  { title: 'offered', align: 'right', value: ({ offered }) => String(offered) },
  { title: 'used', align: 'right', value: ({ used }) => (used === 0 ? 'never' : String(used)) },
  { title: 'tokens/call', align: 'right', value: perCall },
  { title: 'tokens', align: 'right', value: ({ tokens }) => count(tokens) },
  { title: 'cost', align: 'right', value: ({ costUsd }) => formatUsd(costUsd) },
];
const SERVER: TableColumn<TaxLine> = { title: 'server', value: ({ server }) => server || '(none)' };
const TOOL_COLUMNS: readonly TableColumn<TaxLine>[] = [
  SERVER,
  { title: 'tool', value: ({ tool }) => tool },
  ...FIGURES,
];
const SERVER_COLUMNS: readonly TableColumn<TaxLine>[] = [
  SERVER,
  { title: 'tools', align: 'right', value: ({ tools }) => String(tools) },
  { title: 'unused', align: 'right', value: ({ unused }) => String(unused) },
  ...FIGURES,
];
