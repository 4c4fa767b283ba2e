import { join } from 'node:path';
import { GATE_STATEMENTS } from '../approvals/index.ts';
import { useStderrDiag } from '../base/index.ts';
import { type Collector, startCollector } from '../collector/index.ts';
import { DEFAULT_DATA_DIR } from '../postgres/index.ts';
import { type Page, startPage } from '../ui/index.ts';
import { agentSettings, agentSettingsText } from './agent-settings.ts';
import {
  type Command,
  DATABASE_FLAGS,
  END_MS,
  EndingSignal,
  EXIT_OK,
  findOpenDatabase,
  namePortFlag,
  numberFlag,
  PAGE_PORT,
  print,
  readFlags,
} from './command-line/index.ts';
import { noteRunningPage, PAGE_FLAGS, type PageAccess, pageAccess } from './page-access.ts';
import { findRetention, RETENTION_FLAGS, type Retention, Tidying } from './retention.ts';
import { lazyStoreMcp } from './store-mcp.ts';
import { printableLine } from './terminal/index.ts';
import { type ImportedTranscripts, importTranscripts } from './transcripts.ts';
import { findWebhook } from './webhook.ts';

const HTTP_PORT = 4318;
const GRPC_PORT = 4317;
const IMPORT_DAYS = 30;

const HELP = `Usage: mcp-observatory up [options]

Receiver, store and page in one process. Takes spans and the events of coding agents over OTLP (HTTP on port
${HTTP_PORT}, gRPC on port ${GRPC_PORT}), keeps them in an embedded database, and serves the page and, for agents, an
MCP endpoint at /mcp. Prints the settings for Claude Code, Codex, VS Code Copilot and Gemini CLI.

Options:
  --port N              port of the page (default ${PAGE_PORT})
  --http-port N         port of OTLP over HTTP (default ${HTTP_PORT}); 0 is any free one
  --grpc-port N         port of OTLP over gRPC (default ${GRPC_PORT}); 0 is any free one
  --capture-content     keep prompts, answers and error texts that senders put on spans (default: hashed, scored
                        and removed); OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT
  --keep AGE            delete spans older than this, in whole days (default 7d; on a server nothing is deleted without
                        this flag); stderr says first what will be deleted
  --max-size SIZE       delete the oldest days when the tables are larger (default 1g; on a server no limit, and
                        only with --keep)
  --data-dir DIR        folder of the embedded database (default ${DEFAULT_DATA_DIR})
  --database-url URL    a Postgres server instead; MCP_OBSERVATORY_DATABASE_URL. DATABASE_URL is not used
  --import              first read what Claude Code, Codex and Gemini CLI did in the last ${IMPORT_DAYS} days from the
                        transcripts in their folders: runs, tools, tokens and cost; with --capture-content also
                        prompts. Without --keep, spans are then kept as long
  --goldens DIR         folder of the goldens that runs can be compared with (default goldens)
  --as NAME             who decides on the page (default: your user), recorded as page:NAME
  --token TOKEN         one token for the page instead of one for each browser; MCP_OBSERVATORY_PAGE_TOKEN. Anyone
                        who can read it, in the process list or the environment, can decide
  --webhook URL         POST JSON here for each call that waits for a person, without its arguments; signed with
                        MCP_OBSERVATORY_WEBHOOK_SECRET if that is set
  --json                print the ready line as JSON

All ports listen on 127.0.0.1. The printed address holds a token for one browser, which may then decide; using it
prints the next one. Agents read with the read token. If the package @electric-sql/pglite is not installed, it is
fetched once, about 27 MB, into a private folder of your cache.

Runs until SIGTERM, SIGINT or SIGHUP; then it finishes the requests in progress and exits, within 25 s.`;

const OPTIONS = {
  port: { type: 'string' },
  'http-port': { type: 'string' },
  'grpc-port': { type: 'string' },
  'capture-content': { type: 'boolean' },
  import: { type: 'boolean', default: false },
  ...RETENTION_FLAGS,
  goldens: { type: 'string' },
  webhook: { type: 'string' },
  ...PAGE_FLAGS,
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
    const ports = {
      '--http-port': port('--http-port', values['http-port'], HTTP_PORT),
      '--grpc-port': port('--grpc-port', values['grpc-port'], GRPC_PORT),
      '--port': port('--port', values.port, PAGE_PORT),
    };
    const refuse = (error: unknown) => {
      throw namePortFlag(error, ports);
    };
    const host = '127.0.0.1';
    // Values that cannot be used are refused before anything is opened.
    findRetention(values, 'pglite');
    useStderrDiag(io.env.OTEL_LOG_LEVEL);
    using ending = new EndingSignal();
    await using db = await findOpenDatabase(values, io, {
      create: true,
      variables: 'own',
      signal: ending.giveUp,
      dataDir: join(process.cwd(), DEFAULT_DATA_DIR),
    });
    const keep = values.keep ?? (values.import && db.kind === 'pglite' ? `${IMPORT_DAYS + 1}d` : undefined);
    const retention = findRetention({ ...values, keep }, db.kind);
    await using collector = await startCollector({
      database: db,
      http: { host, port: ports['--http-port'] },
      grpc: { host, port: ports['--grpc-port'] },
      captureContent: values['capture-content'],
      drainTimeoutMs: END_MS,
    }).catch(refuse);
    const access = await pageAccess(values, io);
    await using page = await startPage({
      ...access,
      db,
      mcp: lazyStoreMcp(io, db),
      port: ports['--port'],
      goldens: values.goldens,
      senders: agentSettings(collector.httpUrl ?? '', collector.grpcAddress ?? ''),
      webhook: findWebhook(values.webhook, io.env),
    }).catch(refuse);
    const door = await db.share?.({ spansUrl: collector.httpUrl, gates: GATE_STATEMENTS });
    await using _noted = await noteRunningPage(io, page, access.readToken, db.name, door);
    await using tidying = retention && new Tidying(db, retention, io);
    // Before it says that it is ready: who reads that may end it at once.
    const ended = ending.wait();
    print(
      io,
      values.json ? readyJson(page, access, collector) : readyText(page, access, collector, retention),
    );
    const stopped = new AbortController();
    const imported = values.import
      ? importTranscripts({
          env: io.env,
          httpUrl: collector.httpUrl ?? '',
          db,
          sinceMs: Date.now() - IMPORT_DAYS * 86_400_000,
          withText: values['capture-content'] === true,
          signal: stopped.signal,
        }).then((found) => {
          if (!stopped.signal.aborted) print(io, values.json ? { imported: found } : importedText(found));
        })
      : undefined;
    await ended;
    stopped.abort();
    await imported;
    // At once: none of them waits for the others.
    await Promise.all([tidying?.[Symbol.asyncDispose](), page.close(), collector.close()]);
    return EXIT_OK;
  },
};

function importedText({ agents, problems }: ImportedTranscripts): string {
  const read = agents.map(({ name, files, events }) => `${name} (${files} sessions, ${events} events)`);
  const lines = [`  imported        ${read.join(', ') || 'no transcripts were found'}`];
  for (const problem of problems) lines.push(`  not imported    ${problem}`);
  return lines.map(printableLine).join('\n');
}

function readyJson(
  page: Page,
  { readToken }: PageAccess,
  { httpUrl, grpcAddress, database }: Collector,
): object {
  const mcp = `${page.address}mcp`;
  return {
    ready: true,
    page: page.url,
    mcp,
    read_token: readToken,
    http: httpUrl,
    grpc: grpcAddress,
    database,
  };
}

function readyText(
  page: Page,
  { readToken }: PageAccess,
  { httpUrl, grpcAddress, database }: Collector,
  retention: Retention | undefined,
): string {
  const lines = [
    `mcp-observatory up: ${page.url}`,
    `  store           ${database}`,
    `  kept            ${retention?.text ?? 'everything (--keep deletes old spans)'}`,
    `  MCP             ${page.address}mcp, for agents that look into runs; they decide nothing. Header:`,
    `                  Authorization: Bearer ${readToken}`,
    `  OTLP            ${httpUrl} (HTTP), ${grpcAddress} (gRPC)`,
    '',
    ...agentSettingsText(httpUrl ?? '', grpcAddress ?? ''),
    '',
    '  Ctrl-C stops it.',
  ];
  return lines.map(printableLine).join('\n');
}
