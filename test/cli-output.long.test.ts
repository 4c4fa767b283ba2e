/** What a command prints cannot control the terminal or add lines of its own, whatever it quotes. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { diag } from '@opentelemetry/api';
import { PostgresReviewQueue } from '../src/approvals/index.ts';
import { useStderrDiag } from '../src/base/index.ts';
import { runCli } from '../src/cli/run-cli.ts';
import { type Golden, sealGolden, writeGolden } from '../src/golden/index.ts';
import { openDatabase } from '../src/postgres/index.ts';
import { serveMcp } from './support/http-mcp-server.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { ScriptedProvider } from './support/scripted-provider.ts';
import { longTest, sized } from './support/size.ts';
import { storyGolden } from './support/story-golden.ts';
import { tempDir } from './support/temp-dir.ts';

const HOSTILE =
  '\u001b[31m\u001b]0;owned\u0007\u009b2J\u007f\u202e\u2066\u200b\ufeff\u{e0041}\u2028\r\nFORGED: line';
const FORBIDDEN = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\p{Cf}\p{Zl}\p{Zp}]/u;

const folder = tempDir();
const ENV = { OPENAI_API_KEY: 'k', NO_COLOR: '1', SAFE_TRACE_DIR: join(folder, 'traces') };

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command on a terminal, and fails if it prints what it must not. */
async function cli(argv: readonly string[], input = '', env: Record<string, string> = {}): Promise<Printed> {
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 60 });
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  const printed = Promise.all([text(stdout), text(stderr)]);
  const code = await runCli(argv, { stdin: Readable.from([input]), stdout, stderr, env: { ...ENV, ...env } });
  stdout.end();
  stderr.end();
  const [out, err] = await printed;
  for (const said of [out, err]) {
    assert.doesNotMatch(said, FORBIDDEN, `${argv.join(' ')} printed ${JSON.stringify(FORBIDDEN.exec(said))}`);
  }
  return { code, stdout: out, stderr: err };
}

/** The same for output in which no quoted text may begin a line. */
async function cliLines(argv: readonly string[], input = ''): Promise<Printed> {
  const printed = await cli(argv, input);
  assert.doesNotMatch(printed.stdout + printed.stderr, /^FORGED/m, argv.join(' '));
  return printed;
}

test('commands, flags, files and values that a caller gives are quoted safely', async () => {
  const allowlist = file('allowlist.json', { s: ['add'] });
  const commands = [
    [HOSTILE],
    ['score', '--prices', HOSTILE],
    ['score', '--at', HOSTILE],
    ['run', '--provider', HOSTILE, 'x'],
    ['run', '--provider', 'openai', '--config', HOSTILE, 'x'],
    ['run', '--provider', 'openai', '--timeout', HOSTILE, 'x'],
    ['ask', '--servers', HOSTILE, '--allowlist', allowlist, 'x'],
    ['ask', '--servers', 'x', '--allowlist', HOSTILE, 'x'],
    ['gate', 'plan', '--tools', HOSTILE],
    ['gate', 'plan', '--tools', file('tools.json', {}), '--allowlist', HOSTILE],
    ['gate', 'plan', '--tools', file('tools.json', {}), '--pins', HOSTILE],
    ['gate', 'verify', HOSTILE],
    ['gate', 'eval', '--cases', HOSTILE],
    ['gate', 'e2e', '--cases', HOSTILE, '--servers', HOSTILE],
    ['golden', 'record', '--provider', 'openai', '--out', HOSTILE, '--category', HOSTILE, 'x'],
    ...['inspect', 'list', 'replay', 'from-trace'].map((verb) => ['golden', verb, HOSTILE]),
    ...['compare', 'drift'].map((verb) => ['golden', verb, HOSTILE, HOSTILE]),
    ['golden', 'inspect', HOSTILE, '--width', HOSTILE],
    ['drift', '--since', HOSTILE],
    ['drift', '--data-dir', HOSTILE],
    ['reviews', 'show', HOSTILE, '--data-dir', join(folder, 'none')],
    ['reviews', 'claim', '--lease', HOSTILE, '--data-dir', join(folder, 'none')],
    ['collect', '--http', HOSTILE],
    ['collect', '--token-file', HOSTILE],
    ['doctor', '--folder', HOSTILE],
    ['db', 'prune', '--older-than', HOSTILE],
    ['db', 'status', '--database-url', HOSTILE],
  ];
  const names = [
    'demo',
    'score',
    'run',
    'ask',
    'gate',
    'golden',
    'reviews',
    'drift',
    'collect',
    'doctor',
    'db',
  ];
  for (const argv of [
    ...commands,
    ...names.flatMap((name) => [
      [name, HOSTILE],
      [name, `--${HOSTILE}`],
    ]),
  ]) {
    const { stderr } = await cliLines(argv);
    if (argv[0] !== 'doctor') assert.notEqual(stderr, '', argv.join(' '));
  }
});

test('JSON lines keep what they quote, and are safe to print', async () => {
  const tools = file('tools.json', { s: { tools: [{ name: HOSTILE, inputSchema: { type: 'object' } }] } });
  const allowlist = file('allowlist.json', { s: [HOSTILE] });
  const plan = JSON.stringify({
    type: 'call_tool',
    server: 's',
    tool: HOSTILE,
    args: { [HOSTILE]: HOSTILE },
  });
  const input = `${JSON.stringify({ id: HOSTILE, raw: plan })}\nnot ${HOSTILE.replaceAll(/\s/g, '')}\n`;
  const planned = await cliLines(['gate', 'plan', '--tools', tools, '--allowlist', allowlist], input);
  assert.equal((JSON.parse(planned.stdout.split('\n')[0] ?? '') as { id: unknown }).id, HOSTILE);
  const summary = {
    type: 'summary',
    bullets: [{ claim: HOSTILE, evidence: HOSTILE }],
    risks: [],
    recommendations: [],
  };
  await cliLines(
    ['gate', 'evidence'],
    `${JSON.stringify({ id: HOSTILE, source: { [HOSTILE]: HOSTILE }, summary })}\n`,
  );
  const call = { id: HOSTILE, model: HOSTILE, prompt: HOSTILE, answer: HOSTILE };
  const scored = await cliLines(['score', '--with-normalized'], `${JSON.stringify(call)}\n`);
  const row = JSON.parse(scored.stdout) as Record<string, unknown>;
  assert.deepEqual([row.id, row.prompt_size_chars], [HOSTILE, [...HOSTILE].length]);
});

test('run prints the names, errors, progress and answers of hostile servers and models safely', async () => {
  await using mcp = await serveMcp(() => {
    const server = new McpServer({ name: HOSTILE, version: HOSTILE });
    server.registerTool('break', { description: HOSTILE }, () => ({
      content: [{ type: 'text', text: HOSTILE }],
      isError: true,
    }));
    return server;
  });
  const gone = { url: `http://127.0.0.1:9/${encodeURIComponent(HOSTILE)}` };
  const config = file('servers.json', { mcpServers: { s: { url: mcp.url }, [`bad ${HOSTILE}`]: gone } });
  const only = file('server.json', { mcpServers: { s: { url: mcp.url } } });
  const turns = [
    { text: HOSTILE, calls: [{ name: 's__break' }, { name: HOSTILE }] },
    { text: HOSTILE, calls: [{ name: 's__break', rawArguments: HOSTILE }] },
    { text: HOSTILE },
  ];
  for (const [script, args] of [
    [turns, ['--config', only]],
    [turns, ['--config', only, '--plan']],
    [turns, ['--config', only, '--json']],
    [turns, ['--config', config]],
    [[{ status: 400, text: HOSTILE, errorType: HOSTILE }], ['--config', only]],
    [[{ status: 500, text: HOSTILE }], ['--config', only]],
  ] as const) {
    await using model = await ScriptedProvider.start([...script, { text: HOSTILE }, { text: HOSTILE }]);
    const address = ['--provider', 'openai', '--base-url', model.baseUrl('openai')];
    const { stderr } = await cli(['run', ...args, ...address, '--timeout', '2', HOSTILE]);
    assert.doesNotMatch(stderr, /^FORGED/m);
    const out = join(folder, 'recorded.json');
    if (script !== turns || args.length > 2) continue;
    await cliLines(['golden', 'record', ...args, ...address, '--out', out, HOSTILE]);
    const allowlist = file('asked.json', { s: ['break'] });
    const asked = [
      'ask',
      '--servers',
      args[1],
      '--allowlist',
      allowlist,
      '--base-url',
      model.baseUrl('openai'),
      'x',
    ];
    await cli(asked);
  }
});

longTest('the golden commands print every text of a golden safely', async () => {
  const original = storyGolden({ resultChars: 60 });
  const library = join(folder, 'library');
  mkdirSync(library);
  let planted = 0;
  const plant = async (golden: Golden): Promise<void> => {
    planted += 1;
    const path = file(`library/${planted}.json`, '');
    await writeGolden(path, golden);
    for (const argv of [
      ['inspect', path, '--full'],
      ['compare', path, old],
      ['drift', old, path],
    ]) {
      await cliLines(['golden', ...argv]);
    }
  };
  const old = file('old.json', '');
  await writeGolden(old, original);
  const paths = stringsIn(original);
  assert.ok(paths.length > 50, `${paths.length} texts`);
  for (const path of paths.filter((_, i) => i % sized(5, 1) === 0)) {
    await plant(sealGolden(withHostile(original, path)));
  }
  assert.equal(planted, Math.ceil(paths.length / sized(5, 1)));
  await cliLines(['golden', 'list', library]);
  await cliLines(['golden', 'replay', old, file(`${HOSTILE.replaceAll('/', '')}.json`, '{}')]);
});

test('gate verify and doctor print what they find in files safely', async () => {
  const traces = join(folder, 'trail');
  mkdirSync(traces);
  const record = JSON.stringify({ seq: 1, type: HOSTILE, run: HOSTILE, hash: HOSTILE, prev: HOSTILE });
  const writer = '0123456789abcdef';
  for (const name of [`run-${HOSTILE}.jsonl`, `chain-${writer}.jsonl`, `head-${writer}.json`]) {
    writeFileSync(join(traces, name), `${record}\n`);
  }
  const { stdout } = await cliLines(['gate', 'verify', traces]);
  assert.match(stdout, /problems/);
  const app = join(folder, 'app');
  mkdirSync(join(app, 'node_modules/openai'), { recursive: true });
  const manifest = { name: 'openai', version: HOSTILE, main: 'index.js' };
  writeFileSync(join(app, 'node_modules/openai/package.json'), JSON.stringify(manifest));
  writeFileSync(join(app, 'node_modules/openai/index.js'), '');
  await cliLines(['doctor', '--folder', app]);
});

test('a message to diag is one line on stderr', () => {
  const lines: string[] = [];
  const { write } = process.stderr;
  diag.disable();
  process.stderr.write = (chunk: string | Uint8Array) => lines.push(String(chunk)) > 0;
  try {
    useStderrDiag('warn');
    diag.error(`server: ${HOSTILE}`, new Error(HOSTILE), { detail: HOSTILE }, HOSTILE);
  } finally {
    process.stderr.write = write;
    diag.disable();
  }
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /^\[otel error\] server: .* at .*\n$/);
  assert.doesNotMatch(lines[0] ?? '', FORBIDDEN);
});

describe('with Postgres', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  longTest('the names and texts of stored spans and reviews are printed safely', async () => {
    const url = await server.createMigrated();
    await using db = await openDatabase({ url });
    await db.query(
      `INSERT INTO mcp_traces (trace_id, span_id, service, tool_name, model, prompt_template_id,
         normalized_prompt_hash, start_time, end_time, span_name, span_kind, status_code, attributes, resource, events, links)
       SELECT gen_random_uuid(), gen_random_uuid(), $1, $1, $1, $1, $1, now(), now(), $1, 'client', 'unset', '{}', '{}', '[]', '[]'
       FROM generate_series(1, 30)`,
      [HOSTILE],
    );
    const queue = new PostgresReviewQueue({ connection: db });
    const content = { [HOSTILE]: HOSTILE };
    const names = { toolName: HOSTILE, service: HOSTILE, model: HOSTILE, promptTemplateId: HOSTILE };
    const id = await queue.submit({ fallbackReason: 'low_confidence', content, ...names });
    for (const argv of [
      ['db', 'status'],
      ['drift', '--fail-over', '0'],
      ['reviews', 'list'],
      ['reviews', 'claim', '--as', HOSTILE],
      ['reviews', 'show', id],
      ['reviews', 'approve', id, '--as', HOSTILE, '--token', '1', '--note', HOSTILE],
      ['reviews', 'show', HOSTILE],
      ['reviews', 'claim', HOSTILE, '--as', 'ada'],
    ]) {
      await cliLines([...argv, '--database-url', url]);
      await cliLines([...argv, '--database-url', url, '--json']);
    }
  });
});

/** The paths of all texts in a value. */
function stringsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value === 'string') return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => stringsIn(member, [...path, key]));
}

function withHostile(golden: Golden, path: readonly string[]): Golden {
  const copy = structuredClone(golden);
  let at = copy as unknown as Record<string, unknown>;
  for (const key of path.slice(0, -1)) at = at[key] as Record<string, unknown>;
  at[path.at(-1) ?? ''] = HOSTILE;
  return copy;
}
