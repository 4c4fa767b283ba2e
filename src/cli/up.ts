import { once } from 'node:events';
import { join } from 'node:path';
import { useStderrDiag } from '../base/index.ts';
import { type Collector, startCollector } from '../collector/index.ts';
import { type Database, DEFAULT_DATA_DIR, databaseBytes, prune } from '../postgres/index.ts';
import { startPage } from '../ui/index.ts';
import { agentSettings, agentSettingsText } from './agent-settings.ts';
import {
  type Command,
  type CommandIo,
  DATABASE_FLAGS,
  EXIT_OK,
  numberFlag,
  openDatabaseOf,
  parseDuration,
  print,
  readFlags,
  sizeFlag,
} from './command-line/index.ts';
import { lazyStoreMcp } from './store-mcp.ts';
import { printableLine } from './terminal/index.ts';
import { webhookOf } from './webhook.ts';

const PAGE_PORT = 4320;
const HTTP_PORT = 4318;
const GRPC_PORT = 4317;
/** Deleting would hold up the first spans, and the first look at them. */
const TIDY_FIRST_MS = 10_000;
const TIDY_EVERY_MS = 15 * 60_000;
const DAY_MS = 86_400_000;
/** After a signal: what still runs in the store then is given up, so that the process ends before it is killed. */
const END_MS = 20_000;

const HELP = `Usage: mcp-observatory up [options]

One process to see what happens: it takes spans and the events of coding agents over OTLP (HTTP on port ${HTTP_PORT},
gRPC on port ${GRPC_PORT}), keeps them in an embedded database, and serves the page, and an MCP endpoint for agents at /mcp. It prints how to set up Claude Code,
Codex, VS Code Copilot and Gemini CLI.

Options:
  --port N              port of the page (default ${PAGE_PORT})
  --http-port N         port of OTLP over HTTP (default ${HTTP_PORT}); 0 is any free one
  --grpc-port N         port of OTLP over gRPC (default ${GRPC_PORT}); 0 is any free one
  --capture-content     keep prompts, answers and error texts that senders put on spans (default: hashed, scored
                        and removed); OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT
  --keep AGE            delete spans older than this, in whole days (default 7d)
  --max-size SIZE       delete the oldest days when the store is larger (default 1g)
  --data-dir DIR        folder of the embedded database (default ${DEFAULT_DATA_DIR})
  --database-url URL    a Postgres server instead; else MCP_OBSERVATORY_DATABASE_URL, else DATABASE_URL
  --goldens DIR         folder of the goldens that runs can be compared with (default goldens)
  --webhook URL         told of each call that waits for a person (POST of JSON, without the arguments; signed with
                        MCP_OBSERVATORY_WEBHOOK_SECRET where it is set)
  --json                print the ready line as JSON

All ports listen on 127.0.0.1. Without the package @electric-sql/pglite the embedded database is fetched once, about
27 MB, into a private folder of your cache.

Runs until SIGTERM or SIGINT; then it finishes the requests in progress and exits, within 25 s.`;

const OPTIONS = {
  port: { type: 'string' },
  'http-port': { type: 'string' },
  'grpc-port': { type: 'string' },
  'capture-content': { type: 'boolean' },
  keep: { type: 'string', default: '7d' },
  'max-size': { type: 'string', default: '1g' },
  goldens: { type: 'string' },
  webhook: { type: 'string' },
  ...DATABASE_FLAGS,
  json: { type: 'boolean', default: false },
} as const;

/** `mcp-observatory up`: receiver, store and page in one process. */
export const upCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const { values } = readFlags(args, OPTIONS);
    const port = (flag: '--port' | '--http-port' | '--grpc-port', text: string | undefined, usual: number) =>
      numberFlag(flag, text, { to: 65_535, whole: true }) ?? usual;
    const keepMs = parseDuration('--keep', values.keep);
    const maxBytes = sizeFlag('--max-size', values['max-size']);
    const host = '127.0.0.1';
    useStderrDiag(io.env.OTEL_LOG_LEVEL);
    const giveUp = new AbortController();
    await using db = await openStore(values, io, giveUp.signal);
    await using collector = await startCollector({
      database: db,
      http: { host, port: port('--http-port', values['http-port'], HTTP_PORT) },
      grpc: { host, port: port('--grpc-port', values['grpc-port'], GRPC_PORT) },
      captureContent: values['capture-content'],
      drainTimeoutMs: END_MS,
    });
    await using page = await startPage({
      db,
      mcp: lazyStoreMcp(io, db),
      port: port('--port', values.port, PAGE_PORT),
      goldens: values.goldens,
      senders: agentSettings(collector.httpUrl ?? '', collector.grpcAddress ?? ''),
      webhook: webhookOf(values.webhook, io.env),
    });
    let tidied = Promise.resolve();
    const tidyNow = () => {
      tidied = tidied.then(() => tidy(db, keepMs, maxBytes, io));
    };
    const tidying = [setTimeout(tidyNow, TIDY_FIRST_MS), setInterval(tidyNow, TIDY_EVERY_MS)];
    try {
      print(io, values.json ? readyJson(page.url, collector) : readyText(page.url, collector));
      await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
    } finally {
      setTimeout(() => giveUp.abort(), END_MS).unref();
      for (const timer of tidying) clearTimeout(timer);
      // It deletes from a database that is about to be closed.
      await Promise.all([tidied, page.close(), collector.close()]);
    }
    return EXIT_OK;
  },
};

type Values = ReturnType<typeof readFlags<typeof OPTIONS>>['values'];

function openStore(values: Values, io: CommandIo, signal: AbortSignal): Promise<Database> {
  const dataDir = values['data-dir'] ?? join(process.cwd(), DEFAULT_DATA_DIR);
  return openDatabaseOf({ ...values, 'data-dir': dataDir }, io, true, signal);
}

/** Deletes what is too old, and the oldest days of what is too large; today's spans stay. */
async function tidy(db: Database, keepMs: number, maxBytes: number, io: CommandIo): Promise<void> {
  try {
    const oldest = Date.now() - keepMs;
    await prune(db, new Date(oldest));
    for (let before = oldest + DAY_MS; before < Date.now(); before += DAY_MS) {
      if ((await databaseBytes(db)) <= maxBytes) return;
      await prune(db, new Date(before));
      io.stderr.writeLine(
        `mcp-observatory up: the store is larger than --max-size; spans before ${new Date(before).toISOString()} are deleted`,
      );
    }
  } catch (error) {
    io.stderr.writeLine(`mcp-observatory up: old spans could not be deleted: ${(error as Error).message}`);
  }
}

function readyJson(page: string, { httpUrl, grpcAddress, database }: Collector): object {
  return { ready: true, page, mcp: `${page}mcp`, http: httpUrl, grpc: grpcAddress, database };
}

function readyText(page: string, { httpUrl, grpcAddress, database }: Collector): string {
  const lines = [
    `mcp-observatory up: ${page}`,
    `  store           ${database}`,
    `  MCP             ${page}mcp, for agents that look into runs`,
    `  OTLP            ${httpUrl} (HTTP), ${grpcAddress} (gRPC)`,
    '',
    ...agentSettingsText(httpUrl ?? '', grpcAddress ?? ''),
    '',
    '  Ctrl-C stops it.',
  ];
  return lines.map(printableLine).join('\n');
}
