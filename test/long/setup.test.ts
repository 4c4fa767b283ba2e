/** `mcp-observatory setup` in applications as strangers have them: each ends in a span, and each file is restored. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { Consumers, ROOT } from '../support/consumer.ts';

let consumers: Consumers;
let folder: string;
/** Beside the applications: below them, Next.js would look no further up. */
let home: string;
before(async () => {
  consumers = await Consumers.pack();
  home = await consumers.empty('home');
  folder = await consumers.install('setup', [
    'openai@6',
    'express@5',
    'hono@4',
    '@hono/node-server@1',
    '@modelcontextprotocol/sdk@1',
    'zod@4',
    'tsx@4',
    'nodemon@3',
    'next@16',
    'react@19',
    'react-dom@19',
    '@nestjs/core@11',
    '@nestjs/common@11',
    '@nestjs/platform-express@11',
    '@nestjs/cli@11',
    'reflect-metadata@0',
    'rxjs@7',
    'typescript@5',
    '@opentelemetry/api@1.9.1',
    '@opentelemetry/sdk-node@0.223.0',
    '@opentelemetry/sdk-trace-node@2.12.0',
  ]);
});
after(() => consumers?.[Symbol.asyncDispose]());

/** A client whose answers need no network. */
const MODEL = `
const body = { id: 'a', object: 'chat.completion', model: 'gpt-4o', choices: [{ index: 0, finish_reason: 'stop',
  message: { role: 'assistant', content: 'Hi' } }], usage: { prompt_tokens: 1, completion_tokens: 1 } };
const headers = { 'content-type': 'application/json' };
const client = new OpenAI({ apiKey: 'x', fetch: async () => new Response(JSON.stringify(body), { headers }) });
const ask = () => client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] });
`;
const IMPORT = "import OpenAI from 'openai';";

const NEST_OPTIONS = { experimentalDecorators: true, emitDecoratorMetadata: true, skipLibCheck: true };

/** Each application: its manifest and its files. Servers ask themselves once they listen. */
const APPS: Readonly<Record<string, readonly [object, Readonly<Record<string, string>>]>> = {
  esm: [{ type: 'module', scripts: { start: 'node app.js' } }, { 'app.js': `${IMPORT}${MODEL}await ask();` }],
  cjs: [{ main: 'app.js' }, { 'app.js': `const OpenAI = require('openai');${MODEL}ask();` }],
  'a start script that builds': [
    { type: 'module', scripts: { build: 'tsc', start: 'npm run build && node dist/main.js' } },
    {
      'tsconfig.json':
        '{"compilerOptions":{"module":"nodenext","outDir":"dist","rootDir":"src","skipLibCheck":true}}',
      'src/main.ts': `${IMPORT}${MODEL}await ask();`,
    },
  ],
  'NodeSDK of its own': [
    { type: 'module', scripts: { start: 'node --import ./otel.js app.js' } },
    {
      'otel.js': `import { NodeSDK } from '@opentelemetry/sdk-node';
const sdk = new NodeSDK(); sdk.start(); process.once('beforeExit', () => sdk.shutdown());`,
      'app.js': `${IMPORT}${MODEL}await ask();`,
    },
  ],
  'Express with nodemon': [
    { type: 'module', dependencies: { express: '5' }, scripts: { dev: 'nodemon app.js' } },
    {
      'app.js': `import express from 'express'; ${IMPORT}${MODEL}
const server = express().get('/', async (_, response) => { await ask(); response.send('x'); })
  .listen(0, () => fetch('http://127.0.0.1:' + server.address().port));`,
    },
  ],
  Nest: [
    { dependencies: { '@nestjs/core': '11' }, scripts: { start: 'nest start' } },
    {
      'tsconfig.json': JSON.stringify({
        compilerOptions: { module: 'nodenext', outDir: 'dist', rootDir: 'src', ...NEST_OPTIONS },
      }),
      'nest-cli.json': '{"sourceRoot":"src"}',
      'src/main.ts': `import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core'; ${IMPORT}${MODEL}
@Controller() class Questions { @Get() async answer() { await ask(); return 'x'; } }
@Module({ controllers: [Questions] }) class App {}
void NestFactory.create(App).then(async (app) => { await app.listen(0, '127.0.0.1'); await fetch(await app.getUrl()); });`,
    },
  ],
  'AWS Lambda by its emulator': [
    { type: 'module', devDependencies: { '@types/aws-lambda': '8' }, scripts: { start: 'node emulator.js' } },
    {
      'index.js': `${IMPORT}${MODEL}export const handler = async () => { await ask(); };`,
      'emulator.js': "await (await import('./index.js')).handler({}, {});",
    },
  ],
  'Hono with tsx watch': [
    { type: 'module', dependencies: { hono: '4' }, scripts: { dev: 'tsx watch src/index.ts' } },
    {
      'src/index.ts': `import { serve } from '@hono/node-server'; import { Hono } from 'hono'; ${IMPORT}${MODEL}
const app = new Hono().get('/', async (c) => { await ask(); return c.text('x'); });
serve({ fetch: app.fetch, port: 0 }, ({ port }) => fetch('http://127.0.0.1:' + port));`,
    },
  ],
};

/** Runs the installed command line in a folder, for somebody who has set nothing; what it asks for, it is given. */
function setup(cwd: string, ...flags: string[]): Promise<{ code: number; output: string }> {
  const cli = join(folder, 'node_modules/mcp-observatory/dist/lib/cli.js');
  const env = { ...consumers.env, HOME: home, NEXT_TELEMETRY_DISABLED: '1' };
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [cli, 'setup', ...flags],
      { cwd, env },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` }),
    );
    child.stderr?.on('data', (said: string) => {
      const [, origin] = /It names (\S+): send it a request/.exec(said) ?? [];
      if (origin === undefined) return;
      // A server that has just said so may not be ready.
      const asking = setInterval(() => void fetch(`${origin}/ask`).catch(() => {}), 2000);
      child.once('exit', () => clearInterval(asking));
    });
  });
}

/** What builds leave. */
const BUILT = /\/(?:\.next|dist)\//;

async function filesIn(at: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(at, { recursive: true, withFileTypes: true });
  const all = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files = all.filter((file) => !BUILT.test(file.slice(at.length)));
  const read = files.sort().map(async (file) => [file, await readFile(file, 'utf8')] as const);
  return Object.fromEntries(await Promise.all(read));
}

async function writeFiles(at: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(at, file)), { recursive: true });
    await writeFile(join(at, file), text);
  }
}

async function assertSpanArrives(name: string, expected: RegExp): Promise<void> {
  const at = join(folder, name);
  const before = await filesIn(at);
  const { code, output } = await setup(at);
  assert.equal(code, 0, output);
  assert.match(output, expected);
  assert.equal((await setup(at, '--undo')).code, 0);
  assert.deepEqual(await filesIn(at), before);
}

for (const [name, [manifest, files]] of Object.entries(APPS)) {
  test(`setup ends in a span of a model call: ${name}`, async () => {
    await writeFiles(join(folder, name), { ...files, 'package.json': JSON.stringify(manifest) });
    await assertSpanArrives(name, /A span arrived: chat gpt-4o \(mcp-observatory\/openai\)/);
  });
}

/** A model called by a route of an application that is asked while setup waits for a request. */
const NEXT = {
  'app/layout.js': 'export default ({ children }) => <html><body>{children}</body></html>;',
  'app/ask/route.js': `${IMPORT}${MODEL}export async function GET() { await ask(); return Response.json({}); }`,
  'package.json': '{"dependencies":{"next":"16"},"scripts":{"dev":"next dev -p 0"}}',
};
const OVER_HTTP = {
  'server.js': `import express from 'express';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
const app = express().use(express.json()).post('/mcp', async (request, response) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await new McpServer({ name: 'x', version: '1' }).connect(transport);
  await transport.handleRequest(request, response, request.body);
});
const server = app.listen(0, () => console.log('http://localhost:' + server.address().port));`,
  'package.json':
    '{"type":"module","dependencies":{"@modelcontextprotocol/sdk":"1"},"scripts":{"start":"node server.js"}}',
};

for (const [name, files, span] of [
  ['next', NEXT, 'chat gpt-4o \\(mcp-observatory/openai'],
  ['an MCP server over HTTP', OVER_HTTP, 'initialize \\(mcp-observatory/mcp'],
] as const) {
  test(`setup names the address of a server, and sees a span of it: ${name}`, async () => {
    await writeFiles(join(folder, name), files);
    await assertSpanArrives(name, new RegExp(`A span arrived: ${span}\\)`));
  });
}

test('setup says what it waits for where nothing runs without an account, and writes what --undo takes back', async () => {
  const at = join(folder, 'none');
  await writeFiles(at, { 'package.json': '{"devDependencies":{"@types/aws-lambda":"8"}}', 'index.js': '' });
  assert.match(
    (await setup(at)).output,
    /Set NODE_OPTIONS=.*\n(?:.*\n)*Not run: AWS Lambda runs the function/,
  );
  const clients = ['claude-code', 'codex', 'gemini-cli', 'vs-code'];
  const before = [await filesIn(at), await filesIn(home)];
  for (const client of clients) {
    const { code, output } = await setup(at, client);
    assert.equal(code, 0, output);
    assert.match(
      output,
      new RegExp(`Nothing was run: ${client} needs its own account\\. Start 'mcp-observatory up'`),
    );
  }
  assert.match((await setup(at, 'cursor')).output, /Cursor sends nothing; 'hook install cursor'/);
  assert.equal((await setup(at, ...clients, '--undo')).code, 0);
  assert.deepEqual([await filesIn(at), await filesIn(home)], before);
});

const SERVER = await readFile(join(ROOT, 'test/fixtures/frames/stdio-server.mjs'), 'utf8');
const BUILT_FIRST = {
  dependencies: { '@modelcontextprotocol/sdk': '1' },
  scripts: { build: 'mkdir -p dist && cp server.mjs dist', start: 'npm run build && node dist/server.mjs' },
};
const BY_FRAMEWORK = {
  'server.mjs': "import 'frame';",
  'node_modules/frame/index.js': "import './lib/server.mjs';",
  'node_modules/frame/lib/server.mjs': SERVER,
};
for (const [name, manifest, files] of [
  ['mcp', { bin: 'server.mjs' }, { 'server.mjs': SERVER }],
  ['mcp that its command builds first', BUILT_FIRST, { 'server.mjs': SERVER }],
  ['mcp by a framework', { bin: 'server.mjs' }, BY_FRAMEWORK],
] as const)
  test(`setup greets an MCP server on stdio, and sees a span of it: ${name}`, async () => {
    await writeFiles(join(folder, name), { ...files, 'package.json': JSON.stringify(manifest) });
    await assertSpanArrives(name, /A span arrived: \S+ \(mcp-observatory\/mcp\)/);
  });

test('setup says why no span arrived', async () => {
  await mkdir(join(folder, 'silent'));
  await writeFile(join(folder, 'silent/package.json'), '{"scripts":{"start":"node app.js"}}');
  await writeFile(join(folder, 'silent/app.js'), 'console.log("hello")');
  const { code, output } = await setup(join(folder, 'silent'));
  assert.equal(code, 1, output);
  assert.match(output, /No span arrived\. The program ended \(exit code 0\)\. It made no call with openai, /);
  assert.match(output, /^hello$/m);
  await writeFile(join(folder, 'silent/package.json'), '{"scripts":{"start":"node dist/app.js"}}');
  assert.match(
    (await setup(join(folder, 'silent'))).output,
    /exit code 1\)\. \S+dist\/app\.js is not there: build it first/,
  );
});

test('setup installs what is missing, and restores package.json and the lock file', async () => {
  const at = await consumers.install('bare', ['openai@6']);
  const [, files] = APPS.esm ?? [];
  await writeFile(join(at, 'app.js'), files?.['app.js'] ?? '');
  const manifest = () => readFile(join(at, 'package.json'), 'utf8');
  const lock = () => readFile(join(at, 'package-lock.json'), 'utf8');
  const before = [await manifest(), await lock()];
  const { code, output } = await setup(at, '--run', 'node app.js');
  assert.equal(code, 0, output);
  assert.match(await manifest(), /"start": "node --import mcp-observatory\/register app\.js"/);
  assert.match(await manifest(), /sdk-trace-node/);
  await setup(at, '--undo');
  assert.deepEqual([await manifest(), await lock()], before);
});
