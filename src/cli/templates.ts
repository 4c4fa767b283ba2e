import { snakeKeys } from '../base/index.ts';
import { type TemplateGroup, type TemplateReport, templateReport } from '../execution/index.ts';
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

const HELP = `Usage: mcp-observatory templates [options]

Counts the model calls that name no prompt template (prompt_template_id), by service, tool and model. A template that is
a deployment artifact is named in every call: by govern({ promptTemplateId }), by an option of instrument(), or by the
attribute gen_ai.prompt.name of another instrumentation.

Exit code 1 when the limit of --fail-over is exceeded, 0 otherwise and without a limit.

Options:
  --since AGE          the window, up to now: 90m, 12h, 7d or 8w (default 7d)
  --service NAME       only this service
  --fail-over SHARE    fail when more than this share of the calls (0 to 1) has no template; 0 allows none
  --database-url URL   Postgres, best without a password; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR       embedded database used without one (default ${DEFAULT_DATA_DIR})
  --json               print one JSON object instead of text`;

/** `mcp-observatory templates`: model calls without a prompt template. */
export const templatesCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values } = readFlags(args, {
      since: { type: 'string', default: '7d' },
      service: { type: 'string' },
      'fail-over': { type: 'string' },
      ...DATABASE_FLAGS,
      json: { type: 'boolean', default: false },
    });
    const sinceMs = durationFlag('--since', values.since);
    const failOver = numberFlag('--fail-over', values['fail-over'], { to: 1 });
    await using db = await findOpenDatabase(values, io);
    const report = await templateReport(db, { sinceMs, service: values.service });
    print(io, values.json ? reportJson(db.name, report) : formatReport(db.name, report));
    return failOver !== undefined && report.untemplatedShare > failOver ? EXIT_FAILED : EXIT_OK;
  },
};

function reportJson(database: string, { from, until, groups, ...totals }: TemplateReport): object {
  return {
    database,
    from: from.toISOString(),
    until: until.toISOString(),
    ...snakeKeys(totals),
    groups: groups.map((group) => snakeKeys(group)),
  };
}

function formatReport(database: string, report: TemplateReport): string {
  const { from, until, calls, untemplated, untemplatedShare, groups } = report;
  const [start, end] = [from, until].map((time) => time.toISOString().slice(0, 16));
  const head = printableLine(
    `${database}: ${untemplated} of ${calls} model calls from ${start} to ${end} name no prompt template ` +
      `(${(100 * untemplatedShare).toFixed(1)} %)`,
  );
  return groups.length === 0 ? head : `${head}\n\n${formatTable(COLUMNS, groups)}`;
}

const COLUMNS: readonly TableColumn<TemplateGroup>[] = [
  { title: 'service', value: ({ service }) => service ?? '(none)' },
  { title: 'tool', value: ({ toolName }) => toolName ?? '(none)' },
  { title: 'model', value: ({ model }) => model ?? '(none)' },
  { title: 'calls', align: 'right', value: ({ calls }) => String(calls) },
  { title: 'without', align: 'right', value: ({ untemplated }) => String(untemplated) },
  { title: 'prompts', align: 'right', value: ({ prompts }) => String(prompts) },
  { title: 'last', value: ({ lastSeen }) => (lastSeen ?? '').slice(0, 16) },
];
