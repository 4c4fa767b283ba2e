/**
 * The shell blocks of README and docs, as a reader runs them: from the packed package, in a folder of an application, with
 * an empty home. A block that is not run says why here.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../support/consumer.ts';
import { FreshApps } from '../support/fresh-app.ts';
import { noPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { PATIENT } from '../support/programs.ts';

const ACCOUNT = 'it needs an account';
const COLLECTOR = 'it needs the Collector, built with Go: otel-collector.long';

/** Blocks that are not run, by document and beginning. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'README.md npm ci && npm run demo': 'it needs a checkout: CI',
  'README.md # OpenTelemetry SDK 3': 'its lines are for two versions: the test of the package installs each',
  'clickhouse.md npm install @clickhouse/client': 'it needs a ClickHouse server',
  'clickhouse.md otelcol-mcp-observatory': COLLECTOR,
  'collector.md collector=': COLLECTOR,
  'collector.md kubectl create': 'it needs Kubernetes',
  'golden-library.md OPENAI_API_KEY=': ACCOUNT,
  'page.md claude mcp add': ACCOUNT,
  'page.md npx mcp-observatory gate pin crm/':
    'its digest is that of a server of the reader; the page test runs such a command',
  'policy-quickstart.md mcp-observatory run --provider': ACCOUNT,
  'policy-quickstart.md export OTEL_INSTRUMENTATION': ACCOUNT,
  'postgres.md npm install @duckdb/node-api\nnode': 'it needs a bucket',
};

interface Row {
  /** Exit codes of its commands, where one is not 0. */
  readonly codes?: readonly number[];
  /** What the last command prints. */
  readonly prints?: RegExp;
  /** What stands for a value of the reader's. */
  readonly with?: readonly (readonly [RegExp, string | ((said: string) => string)])[];
  /** Run before it. */
  readonly first?: string;
  readonly folder?: string;
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const OTHER = '7a085853aaaaaaaaaaaaaaaaaaaaaaaa';
const FREE = '--port 0 --http-port 0 --grpc-port 0';
/** Runs of the application whose ids the docs name. */
const ASKED = `node --import mcp-observatory/register app.js && TRACE=${OTHER} node --import mcp-observatory/register app.js`;

/** Blocks that are run, by document and beginning. */
const RUN: Readonly<Record<string, Row>> = {
  'README.md npx mcp-observatory demo': {
    with: [[/up\b/, `up ${FREE}`]],
    prints: /http:\/\/127\.0\.0\.1:\d+/,
  },
  'README.md MCP_OBSERVATORY_DATABASE_URL=': {},
  'clickhouse.md sed -e': {
    folder: 'node_modules/mcp-observatory',
    prints: /mcp_traces_local ON CLUSTER main \([\s\S]*ENGINE = ReplicatedReplacingMergeTree\('\/clickhouse/,
  },
  'collector.md mcp-observatory collect': {
    with: [[/--spool/, '--http 127.0.0.1:0 --grpc off --health 127.0.0.1:0 --spool']],
  },
  'golden-library.md export MCP_OBSERVATORY_DATABASE_URL': {},
  'goldens.md mcp-observatory golden record': { prints: /refund/ },
  'goldens.md mcp-observatory golden replay': {},
  'goldens.md MCP_OBSERVATORY_GOLDEN=': {},
  'goldens.md mcp-observatory golden check': {},
  'governed-execution.md mcp-observatory reviews list': {
    first: 'node review.mjs',
    // What was approved is not rejected: a reader does one of both.
    codes: [0, 0, 0, 1, 0],
    with: [[/ID/, (said) => /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(said)?.[0] ?? '']],
  },
  'page.md npx mcp-observatory up': { with: [[/up\b/, `up ${FREE}`]], prints: /http:\/\/127\.0\.0\.1:\d+/ },
  'page.md OTEL_EXPORTER_OTLP_ENDPOINT=': { with: [[/http:\/\/127\.0\.0\.1:4318/, 'COLLECTOR']] },
  'page.md npx mcp-observatory runs list': { first: ASKED, prints: /"/ },
  'policy-quickstart.md echo \'{"notes":[': {},
  'policy-quickstart.md echo \'{"id":1': { prints: /"decision":"allow"/ },
  // It finds what the allowlist leaves open, and the call is denied.
  'policy-quickstart.md mcp-observatory gate lint': { prints: /not_allowlisted/ },
  'policy-quickstart.md mcp-observatory gate pin': {
    codes: [1, 0],
    with: [[/2f9c…/, (said) => /--approve (\S+)/.exec(said)?.[1] ?? '']],
  },
  'postgres.md npm install @duckdb/node-api\nnpx': {
    first: 'node --import mcp-observatory/register old.mjs',
    prints: /ada/,
  },
  'shadow-and-drift.md mcp-observatory drift': { first: ASKED, prints: /^\{/ },
};

const APP = `import OpenAI from 'openai';
import { context, trace } from '@opentelemetry/api';
const parent = { traceId: process.env.TRACE ?? '${TRACE}', spanId: '00f067aa0ba902b7', traceFlags: 1, isRemote: true };
const messages = [{ role: 'user', content: 'Hello' }];
await context.with(trace.setSpanContext(context.active(), parent), () =>
  new OpenAI().chat.completions.create({ model: 'gpt-4o', messages }));
`;
/** A span of a day that is closed, in the partition that it had. */
const OLD = `import { trace } from '@opentelemetry/api';
import pg from 'pg';
const startTime = Date.now() - 40 * 86_400_000;
const [from, to] = [startTime, startTime + 86_400_000].map((at) => new Date(at).toISOString().slice(0, 10));
const client = new pg.Client({ connectionString: process.env.MCP_OBSERVATORY_DATABASE_URL });
await client.connect();
const values = "FROM ('" + from + " 00:00Z') TO ('" + to + " 00:00Z')";
await client.query('CREATE TABLE mcp_traces_' + from.replaceAll('-', '') + ' PARTITION OF mcp_traces FOR VALUES ' + values);
await client.end();
const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', 'enduser.id': 'ada' };
trace.getTracer('app').startSpan('chat gpt-4o', { startTime, attributes }).end(startTime + 1);
`;
const REVIEW = `import { PostgresReviewQueue } from 'mcp-observatory/execution';
const queue = new PostgresReviewQueue({ connection: process.env.MCP_OBSERVATORY_DATABASE_URL });
await queue.submit({ toolName: 'send_payment', reason: 'low_confidence', content: { prompt: 'Pay it?' } });
await queue.close();
`;
const SERVERS = { mcpServers: { echo: { command: 'node', args: ['stdio-server.mjs'] } } };

const skip = noPostgres();
let apps: FreshApps;
let server: PostgresServer;
let folder: string;
let env: Readonly<Record<string, string>>;
before(async () => {
  if (skip) return;
  [apps, server] = await Promise.all([FreshApps.start(), startPostgres()]);
  folder = await apps.install('blocks', ['openai@6', '@modelcontextprotocol/sdk@1', 'zod@4']);
  const files = {
    'app.js': APP,
    'old.mjs': OLD,
    'review.mjs': REVIEW,
    'server_config.json': JSON.stringify(SERVERS),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  await mkdir(join(folder, 'goldens'));
  await cp(join(ROOT, 'goldens/openai/invoice_review.json'), join(folder, 'invoice.json'));
  env = {
    ...PATIENT,
    PATH: [join(folder, 'node_modules/.bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: join(folder, 'home'),
    OPENAI_API_KEY: 'sk-none',
    OPENAI_BASE_URL: `${apps.provider.url}/v1`,
    MCP_OBSERVATORY_DATABASE_URL: await server.createMigrated(),
  };
});
after(async () => {
  await apps?.[Symbol.asyncDispose]();
  await server?.stop();
});

interface Block {
  readonly key: string;
  readonly code: string;
}

async function readBlocks(): Promise<readonly Block[]> {
  const docs = (await readdir(join(ROOT, 'docs'))).filter((name) => name.endsWith('.md'));
  const files = ['README.md', ...docs.sort().map((name) => join('docs', name))];
  const texts = await Promise.all(files.map((file) => readFile(join(ROOT, file), 'utf8')));
  return texts.flatMap((text, at) =>
    [...text.matchAll(/^```(?:sh|bash|console|shell)\n([\s\S]*?)^```$/gm)].map(([, code = '']) => ({
      key: `${basename(files[at] ?? '')} ${code}`,
      code,
    })),
  );
}
const blocks = await readBlocks();
const rowOf = <T>(rows: Readonly<Record<string, T>>, { key }: Block) =>
  Object.entries(rows).filter(([name]) => key.startsWith(name));

test('each shell block of README and docs is run here, or says why not', () => {
  const found = blocks.map((block) => [...rowOf(RUN, block), ...rowOf(NOT_RUN, block)].map(([name]) => name));
  const unknown = blocks.filter((_, at) => found[at]?.length !== 1).map(({ key }) => key);
  assert.deepEqual(unknown, []);
  assert.deepEqual(found.flat().sort(), [...Object.keys(RUN), ...Object.keys(NOT_RUN)].sort());
});

for (const block of blocks) {
  for (const [name, row] of rowOf(RUN, block)) {
    test(`it can be run: ${name.replace('\n', ' ')}`, { skip }, async () => {
      const cwd = join(folder, row.folder ?? '.');
      await mkdir(cwd, { recursive: true });
      let said = row.first === undefined ? '' : (await run(row.first, cwd)).said;
      const [codes, exports]: [number[], string[]] = [[], []];
      for (const line of linesOf(block.code)) {
        const command = [...exports, withValues(line, row, said)].join('\n');
        if (line.startsWith('export ')) exports.push(command);
        else {
          const ended = await run(command, cwd);
          codes.push(ended.code);
          said = ended.said;
          assert.doesNotMatch(said, /^\s+at .*:\d+:\d+\)?$/m, said);
        }
      }
      assert.deepEqual(codes, row.codes ?? codes.map(() => 0), said);
      assert.match(said, row.prints ?? /^/);
    });
  }
}

/** Commands of a block: a line may go on in the next. */
const linesOf = (code: string) =>
  code
    .replaceAll(/(\\|\|)\n\s*/g, (_, end) => (end === '|' ? '| ' : ''))
    .split('\n')
    .filter((line) => line.trim() !== '');

function withValues(line: string, row: Row, said: string): string {
  const given = (row.with ?? []).reduce(
    (text, [pattern, value]) => text.replace(pattern, typeof value === 'string' ? value : value(said)),
    line,
  );
  return given
    .replace('TARBALL', apps.tarball)
    .replace('COLLECTOR', apps.collector.url)
    .replaceAll(/postgresql:\/\/(?:localhost\/traces|\.\.\.)/g, env.MCP_OBSERVATORY_DATABASE_URL ?? '')
    .replaceAll('/var/lib/mcp-observatory', join(folder, 'var'));
}

/** Runs a command to its end; one that serves is told to end once it does. */
async function run(command: string, cwd: string): Promise<{ code: number; said: string }> {
  if (!/mcp-observatory (?:up|collect)\b/.test(command))
    return await new Promise((resolve) => {
      execFile('sh', ['-c', command], { cwd, env, timeout: 240_000 }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), said: `${stdout}${stderr}` }),
      );
    });
  const child = spawn('sh', ['-c', `exec ${command}`], { cwd, env, detached: true });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += String(chunk)));
  while (!/127\.0\.0\.1:\d+/.test(said) && child.exitCode === null) await sleep(50);
  // All of them: npx does not tell what it has started. Without a code it ended by the signal.
  if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGTERM');
  return { code: (await ended)[0] ?? 0, said };
}
