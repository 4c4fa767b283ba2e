import { GATE_STATEMENTS } from '../approvals/index.ts';
import { useStderrDiag } from '../base/index.ts';
import { DEFAULT_DATA_DIR } from '../postgres/index.ts';
import { startPage } from '../ui/index.ts';
import {
  type Command,
  DATABASE_FLAGS,
  EndingSignal,
  EXIT_OK,
  findOpenDatabase,
  namePortFlag,
  numberFlag,
  PAGE_PORT,
  print,
  readFlags,
} from './command-line/index.ts';
import { noteRunningPage, PAGE_FLAGS, pageAccess } from './page-access.ts';
import { lazyStoreMcp } from './store-mcp.ts';
import { printableLine } from './terminal/index.ts';
import { findWebhook } from './webhook.ts';

const HELP = `Usage: mcp-observatory ui [options]

Serves the page over the database: runs with their explanation, tools, costs, calls that wait for a person, and
comparisons; and an MCP endpoint for agents at /mcp. It writes only summaries of new runs and your decisions.

Options:
  --port N              port (default ${PAGE_PORT})
  --host HOST           address to listen at (default 127.0.0.1)
  --as NAME             who decides on the page (default: your user), recorded as page:NAME
  --token TOKEN         one token for the page instead of one for each browser; MCP_OBSERVATORY_PAGE_TOKEN. Anyone
                        who can read it, in the process list or the environment, can decide
  --database-url URL    Postgres, best without a password; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR        embedded database used without one (default ${DEFAULT_DATA_DIR})
  --goldens DIR         folder of the goldens that runs can be compared with (default goldens)
  --webhook URL         POST JSON here for each call that waits for a person, without its arguments; signed with
                        MCP_OBSERVATORY_WEBHOOK_SECRET if that is set
  --json                print the ready line as JSON

The printed address holds a token for one browser, which may then decide; using it prints the next one. Agents read
with the read token.

Runs until SIGTERM, SIGINT or SIGHUP.`;

const OPTIONS = {
  port: { type: 'string' },
  host: { type: 'string' },
  goldens: { type: 'string' },
  webhook: { type: 'string' },
  ...PAGE_FLAGS,
  ...DATABASE_FLAGS,
  json: { type: 'boolean', default: false },
} as const;

/** `mcp-observatory ui`: the page. */
export const uiCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values } = readFlags(args, OPTIONS);
    useStderrDiag(io.env.OTEL_LOG_LEVEL);
    using ending = new EndingSignal();
    await using db = await findOpenDatabase(values, io, { signal: ending.giveUp, mayShare: false });
    const door = await db.share?.({ gates: GATE_STATEMENTS });
    const access = await pageAccess(values, io);
    const port = numberFlag('--port', values.port, { to: 65_535, whole: true }) ?? PAGE_PORT;
    await using page = await startPage({
      ...access,
      db,
      mcp: lazyStoreMcp(io, db),
      host: values.host,
      port,
      goldens: values.goldens,
      webhook: findWebhook(values.webhook, io.env),
    }).catch((error: unknown) => {
      throw namePortFlag(error, { '--port': port });
    });
    const { readToken } = access;
    await using _noted = await noteRunningPage(io, page, readToken, db.name, door);
    const mcp = `${page.address}mcp`;
    const lines = [
      `mcp-observatory ui: ${page.url} over ${db.name}`,
      `  MCP at ${mcp}, with the header Authorization: Bearer ${readToken}`,
    ];
    // Before it says that it is ready: who reads that may end it at once.
    const ended = ending.wait();
    print(
      io,
      values.json
        ? { ready: true, url: page.url, mcp, read_token: readToken, database: db.name }
        : lines.map(printableLine).join('\n'),
    );
    await ended;
    return EXIT_OK;
  },
};
