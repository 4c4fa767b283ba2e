/** `mcp-observatory setup` in applications as strangers have them: each ends in a span, and each file is restored. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { Consumers, ROOT } from '../support/consumer.ts';

let consumers: Consumers;
let folder: string;
before(async () => {
  consumers = await Consumers.pack();
  folder = await consumers.install('setup', [
    'openai@6',
    'express@5',
    'hono@4',
    '@hono/node-server@1',
    '@modelcontextprotocol/sdk@1',
    'zod@4',
    'tsx@4',
    'nodemon@3',
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

/** Each application: its manifest and its files. Servers ask themselves once they listen. */
const APPS: Readonly<Record<string, readonly [object, Readonly<Record<string, string>>]>> = {
  esm: [{ type: 'module', scripts: { start: 'node app.js' } }, { 'app.js': `${IMPORT}${MODEL}await ask();` }],
  cjs: [{ main: 'app.js' }, { 'app.js': `const OpenAI = require('openai');${MODEL}ask();` }],
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
  'Hono with tsx watch': [
    { type: 'module', dependencies: { hono: '4' }, scripts: { dev: 'tsx watch src/index.ts' } },
    {
      'src/index.ts': `import { serve } from '@hono/node-server'; import { Hono } from 'hono'; ${IMPORT}${MODEL}
const app = new Hono().get('/', async (c) => { await ask(); return c.text('x'); });
serve({ fetch: app.fetch, port: 0 }, ({ port }) => fetch('http://127.0.0.1:' + port));`,
    },
  ],
};

/** Runs the installed command line in a folder. */
function setup(cwd: string, ...flags: string[]): Promise<{ code: number; output: string }> {
  const cli = join(folder, 'node_modules/mcp-observatory/dist/lib/cli.js');
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [cli, 'setup', ...flags],
      { cwd, env: consumers.env },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` }),
    );
  });
}

async function filesIn(at: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(at, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = files.sort().map(async (file) => [file, await readFile(file, 'utf8')] as const);
  return Object.fromEntries(await Promise.all(read));
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
    for (const [file, text] of Object.entries({ ...files, 'package.json': JSON.stringify(manifest) })) {
      await mkdir(dirname(join(folder, name, file)), { recursive: true });
      await writeFile(join(folder, name, file), text);
    }
    await assertSpanArrives(name, /A span arrived: chat gpt-4o \(mcp-observatory\/openai\)/);
  });
}

test('setup greets an MCP server on stdio, and sees a span of it', async () => {
  await mkdir(join(folder, 'mcp'));
  await cp(join(ROOT, 'test/fixtures/frames/stdio-server.mjs'), join(folder, 'mcp/server.mjs'));
  await writeFile(join(folder, 'mcp/package.json'), '{"bin":"server.mjs"}');
  await assertSpanArrives('mcp', /A span arrived: \S+ \(mcp-observatory\/mcp\)/);
});

test('setup says why no span arrived', async () => {
  await mkdir(join(folder, 'silent'));
  await writeFile(join(folder, 'silent/package.json'), '{"scripts":{"start":"node app.js"}}');
  await writeFile(join(folder, 'silent/app.js'), 'console.log("hello")');
  const { code, output } = await setup(join(folder, 'silent'));
  assert.equal(code, 1, output);
  assert.match(output, /No span arrived\. The program ended \(exit code 0\)\. It made no call with openai, /);
  assert.match(output, /^hello$/m);
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
