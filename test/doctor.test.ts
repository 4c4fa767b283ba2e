import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import Module from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { commandIo } from '../src/cli/command-line/index.ts';
import { doctorCommand } from '../src/cli/doctor.ts';
import type { Diagnosis } from '../src/setup/registration/diagnosis.ts';
import { inRange, installedPackage } from '../src/setup/registration/installed.ts';

async function doctor(args: string[], env: Record<string, string> = {}) {
  const stdout = new PassThrough();
  const quiet = { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' };
  const all = { ...quiet, ...env };
  const io = commandIo({ stdin: Readable.from([]), stdout, stderr: new PassThrough(), env: all });
  const code = await doctorCommand.run(args, io);
  stdout.end();
  return { code, printed: await text(stdout) };
}

async function withFolder(
  files: Record<string, string>,
  run: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'doctor-'));
  try {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(folder, path, '..'), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    await run(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('this package has nothing wrong, and says what would be hooked', async () => {
  const { code, printed } = await doctor(['--json']);
  const diagnosis = JSON.parse(printed) as Diagnosis;
  assert.deepEqual(diagnosis.problems, []);
  assert.equal(code, 0);
  // The client of AWS is installed where the long tests need it.
  const state = (name: string) => (name.startsWith('@aws-sdk/') ? 'not installed' : 'can be hooked');
  for (const { name, state: found } of diagnosis.modules) assert.equal(found, state(name), name);
});

test('an SDK of a version we do not know is a problem, and exit code 1', async () => {
  await withFolder({ 'node_modules/openai/package.json': '{"version":"99.1.0"}' }, async (folder) => {
    const { code, printed } = await doctor(['--json', '--folder', folder]);
    const { modules, problems } = JSON.parse(printed) as Diagnosis;
    assert.equal(code, 1);
    assert.equal(modules.find(({ name }) => name === 'openai')?.state, 'version not supported');
    assert.deepEqual(
      problems.map((problem) => problem.code),
      ['VERSION_NOT_SUPPORTED', 'NO_API', 'NO_SDK'],
    );
  });
});

test("packages that Yarn's Plug'n'Play has elsewhere are found where it says", async (t) => {
  await withFolder(
    { 'package.json': '{}', 'package/package.json': '{"version":"6.1.0"}' },
    async (folder) => {
      const resolveToUnqualified = (name: string) => {
        if (name !== 'openai') throw new Error(`The application does not depend on ${name}`);
        return join(folder, 'package');
      };
      Object.assign(Module, { findPnpApi: () => ({ resolveToUnqualified }) });
      t.after(() => Reflect.deleteProperty(Module, 'findPnpApi'));
      assert.deepEqual(await installedPackage(folder, 'openai'), {
        folder: join(folder, 'package'),
        version: '6.1.0',
      });
      assert.equal(await installedPackage(folder, '@opentelemetry/api'), undefined);
    },
  );
});

test('a bundled SDK is found in the entry file', async () => {
  await withFolder(
    {
      'bundle.js': 'x("OpenAI-Organization", "notifications/roots/list_changed")',
      'node_modules/openai/package.json': '{"version":"6.49.0"}',
    },
    async (folder) => {
      const { printed } = await doctor(['--folder', folder, 'bundle.js']);
      assert.match(printed, /^openai +6\.49\.0 +bundled /m);
      assert.match(printed, /BUNDLED: openai is bundled into/);
      assert.match(
        printed,
        /@modelcontextprotocol\/sdk is bundled .* on stdin .* over HTTP .* all the same; what a client sends is not/,
      );
    },
  );
});

test('what Next.js bundles is not said to be hooked, by its build or else its configuration', async () => {
  const installed = (name: string, version: string) => ({
    [`node_modules/${name}/package.json`]: JSON.stringify({ version }),
  });
  const sdks = {
    ...installed('next', '16.4.6'),
    ...installed('openai', '6.49.0'),
    ...installed('ai', '7.0.1'),
    'node_modules/next/dist/lib/server-external-packages.jsonc': '[\n  // by itself\n  "ai"\n]',
  };
  const build = (names: readonly string[]) => ({
    '.next/required-server-files.json': JSON.stringify({ config: { serverExternalPackages: names } }),
  });
  const wrapped = { 'next.config.mjs': "import { withObservatory } from 'mcp-observatory/next';" };
  const named = { 'package.json': '{"dependencies":{"next":"16"}}' };
  const cases: readonly (readonly [files: Record<string, string>, openai: string])[] = [
    // That of another application of the workspace.
    [{}, 'can be hooked'],
    [named, 'bundled'],
    [wrapped, 'can be hooked'],
    [{ ...wrapped, ...build(['zod']) }, 'bundled'],
    [build(['openai']), 'can be hooked'],
    [{ ...named, '.next/required-server-files.json': 'null' }, 'bundled'],
  ];
  for (const [files, openai] of cases) {
    await withFolder({ ...sdks, ...files }, async (folder) => {
      const { printed } = await doctor(['--json', '--folder', folder]);
      const { modules, problems } = JSON.parse(printed) as Diagnosis;
      const states = new Map(modules.map(({ name, state }) => [name, state]));
      assert.deepEqual(
        [states.get('openai'), states.get('ai')],
        [openai, 'can be hooked'],
        JSON.stringify(files),
      );
      assert.equal(
        problems.some(({ code, message }) => code === 'BUNDLED' && message.includes('withObservatory')),
        openai === 'bundled',
      );
    });
  }
});

test('misspelt variables are named', async () => {
  const { printed, code } = await doctor([], {
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'yes',
    OTEL_TRACES_EXPORTER: 'console',
    OTEL_SDK_DISABLED: 'true',
    OTEL_PROPAGATORS: 'tracecontext,b3',
  });
  assert.equal(code, 1);
  assert.match(printed, /OTEL_PROPAGATORS=tracecontext,b3/);
  assert.match(printed, /SDK_DISABLED/);
  assert.match(printed, /OTEL_TRACES_EXPORTER=console/);
  assert.match(printed, /CAPTURE_MESSAGE_CONTENT/);
});

test('the OTLP protocols and propagators that register can speak are fine, and others are named', async () => {
  for (const protocol of ['http/json', 'http/protobuf']) {
    assert.equal((await doctor([], { OTEL_EXPORTER_OTLP_PROTOCOL: protocol })).code, 0, protocol);
  }
  assert.equal((await doctor([], { OTEL_PROPAGATORS: 'tracecontext, Baggage' })).code, 0);
  const { printed, code } = await doctor([], {
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'grpc',
    OTEL_METRICS_EXPORTER: 'prometheus',
  });
  assert.equal(code, 1);
  assert.match(printed, /OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=grpc .* use http\/json or http\/protobuf/);
  assert.match(printed, /OTEL_METRICS_EXPORTER=prometheus/);
});

test('where spans and metrics go is shown and tried, without keys', async (t) => {
  const secret = 'k3y';
  const receiver = createServer((request, response) => {
    request.resume();
    response.writeHead(request.url === '/v1/metrics' ? 401 : 200).end();
  }).listen(0, '127.0.0.1');
  t.after(() => receiver.close());
  await once(receiver, 'listening');
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://user:${secret}@${host}`;
  t.after(() => delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT);
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: process.env.OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_METRICS_EXPORTER: 'otlp',
    MCP_OBSERVATORY_DATABASE_URL: `postgresql://user:${secret}@127.0.0.1:1/db`,
  };
  const { printed, code } = await doctor([], env);
  assert.equal(code, 1);
  assert.match(printed, new RegExp(`spans go to http://${host}/v1/traces, which accepts them`));
  assert.match(printed, new RegExp(`NOT_RECEIVED: http://${host}/v1/metrics does not accept metrics: .*401`));
  assert.match(printed, /NOT_RECEIVED: .*127\.0\.0\.1:1.* does not accept spans: .*ECONNREFUSED/);
  assert.doesNotMatch(printed, new RegExp(secret));
});

test('an unknown option is bad usage', async () => {
  await assert.rejects(doctor(['--frobnicate']), { code: 'INVALID_OPTION' });
});

test('version ranges hold at their borders', () => {
  for (const [version, inside] of [
    ['4.18.9', false],
    ['4.19.0', true],
    ['7.99.9', true],
    ['8.0.0', false],
  ] as const) {
    assert.equal(inRange(version, '>=4.19.0 <8'), inside, version);
  }
});
