/**
 * Every way to load `mcp-observatory/register` from the packed package: the program prints and ends as without it, and
 * its call is traced, or one line on stderr says what to write instead.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { Consumers, nodeOf, ROOT } from './support/consumer.ts';
import { answer } from './support/model-answers.ts';
import { OtlpCollector } from './support/otlp-collector.ts';
import { outcomeOf } from './support/programs.ts';
import { ProviderServer } from './support/provider-server.ts';
import { tempDir } from './support/temp-dir.ts';

const CALL = `
process.on('beforeExit', () => console.log('beforeExit'));
process.on('exit', (code) => console.log('exit', code));
export async function call(OpenAI) {
  const client = new OpenAI({ apiKey: 'key', baseURL: process.env.PROVIDER_URL + '/v1' });
  const request = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] };
  console.log((await client.chat.completions.create(request)).choices.length);
  process.exitCode = 3;
}
`;
const IMPORTING = "import OpenAI from 'openai';\nimport { call } from './call.mjs';\nawait call(OpenAI);\n";

const PROGRAMS: Readonly<Record<string, string>> = {
  'call.mjs': CALL,
  'app.mjs': IMPORTING,
  'app.cjs': "const OpenAI = require('openai');\nimport('./call.mjs').then(({ call }) => call(OpenAI));\n",
  'app.ts': IMPORTING,
  'throws.cjs': "setImmediate(() => console.log('never'));\nthrow new Error('of the program');\n",
  'first.mjs': `import 'mcp-observatory/register';\n${IMPORTING}`,
  'first.cjs':
    "require('mcp-observatory/register');\nconst OpenAI = require('openai');\nimport('./call.mjs').then(({ call }) => call(OpenAI));\n",
  'first.ts': `import 'mcp-observatory/register';\n${IMPORTING}`,
  'then.mjs': "import 'mcp-observatory/register';\nawait import('./app.mjs');\n",
  'instrumentation.mjs': "import 'mcp-observatory/register';\n",
};

interface Way {
  /** Major version. @defaultValue the Node of the tests */
  readonly node?: number;
  readonly flags?: readonly string[];
  readonly app: string;
  readonly spans: number;
  readonly stderr?: RegExp;
  readonly elsewhere?: true;
}

const INSTEAD =
  /^\[otel warn\] mcp-observatory: .*Write: node --import mcp-observatory\/register app\.js.*\n$/;
const REGISTER = 'mcp-observatory/register';

const WAYS: readonly Way[] = [
  ...[20, 22, 24].flatMap((node) => [
    ...['--import', '--require'].flatMap((flag) =>
      ['app.mjs', 'app.cjs'].map((app) => ({ node, flags: [flag, REGISTER], app, spans: 1 })),
    ),
    { node, flags: ['-r', REGISTER], app: 'throws.cjs', spans: 0 },
    { node, app: 'first.mjs', spans: 0, stderr: INSTEAD },
    { node, app: 'first.cjs', spans: 0, stderr: INSTEAD },
  ]),
  { app: 'then.mjs', spans: 1, stderr: INSTEAD },
  { flags: ['--import', './instrumentation.mjs'], app: 'app.mjs', spans: 1 },
  { flags: ['-r', REGISTER, '-r', 'tsx/cjs', '--import', 'tsx'], app: 'app.ts', spans: 1 },
  { flags: ['--import', 'tsx', '--import', REGISTER], app: 'app.ts', spans: 1 },
  { flags: ['--import', 'tsx'], app: 'first.ts', spans: 0, stderr: INSTEAD },
  // The form for a program that is started from another folder.
  {
    flags: ['--import', '$FOLDER/node_modules/mcp-observatory/dist/lib/register.js'],
    app: 'app.mjs',
    spans: 1,
    elsewhere: true,
  },
  {
    flags: ['-r', '$FOLDER/node_modules/mcp-observatory/dist/lib/register.cjs'],
    app: 'app.mjs',
    spans: 1,
    elsewhere: true,
  },
  ...['--import', '--require'].map((flag) => ({
    node: 18,
    flags: [flag, REGISTER],
    app: 'throws.cjs',
    spans: 0,
    stderr: /^mcp-observatory needs Node 20\.19 or newer; this is Node 18\.\d+\.\d+; nothing is traced\n/,
  })),
];

let consumers: Consumers;
let folder: string;
const nodes: Map<number | undefined, string> = new Map([[undefined, process.execPath]]);
let collector: OtlpCollector;
let provider: ProviderServer;
before(async () => {
  consumers = await Consumers.pack();
  [collector, provider, folder] = await Promise.all([
    OtlpCollector.start(),
    ProviderServer.start(answer),
    consumers.install('ways', [
      'openai@6',
      'tsx@4',
      '@opentelemetry/api@1.9.1',
      '@opentelemetry/sdk-trace-node@2.12.0',
      '@opentelemetry/exporter-trace-otlp-http@0.223.0',
    ]),
  ]);

  for (const node of [18, 20, 22, 24]) nodes.set(node, await nodeOf(node));
  for (const [name, source] of Object.entries(PROGRAMS)) await writeFile(join(folder, name), source);
});
after(async () => {
  await Promise.all([consumers, collector, provider].map((each) => each[Symbol.asyncDispose]()));
});

async function run({ node, flags = [], app, elsewhere }: Way, isTraced: boolean) {
  const ours = flags.map((flag) => flag.replace('$FOLDER', folder));
  const own = flags.includes('tsx') ? ['--import', 'tsx'] : [];
  const child = spawn(nodes.get(node) as string, [...(isTraced ? ours : own), join(folder, app)], {
    cwd: elsewhere ? dirname(folder) : folder,
    env: {
      ...consumers.env,
      PROVIDER_URL: provider.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_SDK_DISABLED: isTraced ? undefined : 'true',
    },
  });
  child.stdin.end();
  return outcomeOf(child);
}

for (const way of WAYS) {
  const { node = '', flags = [], app, spans, elsewhere } = way;
  const where = elsewhere ? ' from another folder' : '';
  test(`node${[node, ...flags, app].join(' ')}${where}: ${spans} spans, output and exit code as without`, async () => {
    collector.spans.length = 0;
    const plain = await run(way, false);
    const traced = await run(way, true);
    assert.deepEqual([traced.stdout, traced.code], [plain.stdout, plain.code], traced.stderr);
    assert.equal(collector.spans.length, spans, traced.stderr);
    const said = traced.stderr.replace(plain.stderr, '');
    if (way.stderr === undefined) assert.equal(said.includes('mcp-observatory'), false, said);
    else assert.match(traced.stderr, way.stderr);
  });
}

test('`up` starts anew in the same process with settings of memory where Node can do that and no debugger may be there', {
  skip: process.platform !== 'linux' && 'environments of processes are read in /proc',
}, async () => {
  for (const [node, flag, arenas] of [
    [20, '--no-deprecation', []],
    [24, '--no-deprecation', ['MALLOC_ARENA_MAX=1']],
    [24, '--inspect=0', []],
  ] as const) {
    const main = join(ROOT, 'dist/src/cli/main.js');
    const ports = ['--port', '0', '--http-port', '0', '--grpc-port', '0'];
    const child = spawn(
      nodes.get(node) as string,
      [flag, main, 'up', '--json', '--data-dir', join(tempDir(), 'store'), ...ports],
      { env: { ...consumers.env, MALLOC_ARENA_MAX: undefined }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const [errors, ended] = [text(child.stderr), once(child, 'close')];
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    assert.equal(JSON.parse(String(line)).ready, true);
    const environment = readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0');
    assert.deepEqual(
      environment.filter((one) => one.startsWith('MALLOC_ARENA_MAX')),
      arenas,
    );
    assert.ok(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').includes(flag));
    child.kill('SIGINT');
    assert.deepEqual(await ended, [0, null]);
    assert.doesNotMatch(await errors, /ExperimentalWarning|Debugger listening(?:.*\n)*Debugger listening/);
  }
});
