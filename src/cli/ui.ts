import { once } from 'node:events';
import { useStderrDiag } from '../base/index.ts';
import { DEFAULT_DATA_DIR } from '../postgres/index.ts';
import { startPage } from '../ui/index.ts';
import {
  type Command,
  DATABASE_FLAGS,
  EXIT_OK,
  numberFlag,
  openDatabaseOf,
  print,
  readFlags,
} from './command-line/index.ts';
import { lazyStoreMcp } from './store-mcp.ts';
import { printableLine } from './terminal/index.ts';
import { webhookOf } from './webhook.ts';

const DEFAULT_PORT = 4320;
/** After a signal: what still runs in the database then is given up. */
const END_MS = 20_000;

const HELP = `Usage: mcp-observatory ui [options]

Serves the page over the database: runs with their explanation, tools, costs, what waits for a person, comparison; and
an MCP endpoint for agents at /mcp. It reads, adds up new runs, and decides what you decide.

Options:
  --port N              port (default ${DEFAULT_PORT})
  --host HOST           address to listen at (default 127.0.0.1); any other than loopback needs a token
  --token TOKEN         required of every request; MCP_OBSERVATORY_PAGE_TOKEN
  --database-url URL    Postgres connection string; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --data-dir DIR        embedded database used without one (default ${DEFAULT_DATA_DIR})
  --goldens DIR         folder of the goldens that runs can be compared with (default goldens)
  --webhook URL         told of each call that waits for a person (POST of JSON, without the arguments; signed with
                        MCP_OBSERVATORY_WEBHOOK_SECRET where it is set)
  --json                print the ready line as JSON

Runs until SIGTERM or SIGINT.`;

const OPTIONS = {
  port: { type: 'string' },
  host: { type: 'string' },
  token: { type: 'string' },
  goldens: { type: 'string' },
  webhook: { type: 'string' },
  ...DATABASE_FLAGS,
  json: { type: 'boolean', default: false },
} as const;

/** `mcp-observatory ui`: the page. */
export const uiCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values } = readFlags(args, OPTIONS);
    useStderrDiag(io.env.OTEL_LOG_LEVEL);
    const giveUp = new AbortController();
    await using db = await openDatabaseOf(values, io, false, giveUp.signal);
    await using page = await startPage({
      db,
      mcp: lazyStoreMcp(io, db),
      host: values.host,
      port: numberFlag('--port', values.port, { to: 65_535, whole: true }) ?? DEFAULT_PORT,
      goldens: values.goldens,
      webhook: webhookOf(values.webhook, io.env),
      token: values.token ?? (io.env.MCP_OBSERVATORY_PAGE_TOKEN || undefined),
    });
    print(
      io,
      values.json
        ? { ready: true, url: page.url, database: db.name }
        : printableLine(`mcp-observatory ui: ${page.url} over ${db.name}`),
    );
    await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
    setTimeout(() => giveUp.abort(), END_MS).unref();
    return EXIT_OK;
  },
};
