import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as sdk from '@opentelemetry/sdk-trace';
import pg from 'pg';
import { samplerIn } from '../src/base/sdk.ts';
import { spoolStatus } from '../src/durable/index.ts';
import { type OtlpReceiver, startOtlpReceiver } from './support/otlp-receiver.ts';
import { noPostgres, runSql, startPostgres } from './support/postgres-server.ts';

const PROGRAM = fileURLToPath(new URL('./fixtures/start-program.js', import.meta.url));

/** Starts the fixture, which makes one span and says `ready`; `mode` tells how it goes on. */
async function program(
  mode: string,
  receiver: Pick<OtlpReceiver, 'baseUrl'>,
  env: Record<string, string> = {},
) {
  const child = spawn(process.execPath, [PROGRAM, mode], {
    env: { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.baseUrl, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk;
  });
  const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const ended = exit.then(() => {
    throw new Error(`The program ended before it was ready: ${output.stderr}`);
  });
  while (!output.stderr.includes('ready')) await Promise.race([once(child.stderr, 'data'), ended]);
  ended.catch(() => {});
  return { child, output, exit };
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`spans that are still queued are sent on ${signal}, and the signal still ends the process`, async () => {
    await using receiver = await startOtlpReceiver();
    const { child, exit, output } = await program('wait', receiver);
    child.kill(signal);
    assert.deepEqual(await exit, [null, signal]);
    assert.equal(receiver.spans.length, 1);
    assert.equal(output.stdout, '');
  });
}

test('what a request has left is sent before its function is suspended, where the platform can wait', async () => {
  await using receiver = await startOtlpReceiver();
  const { exit } = await program('request', receiver, { OTEL_BSP_SCHEDULE_DELAY: '60000' });
  assert.deepEqual(await exit, [null, 'SIGKILL']);
  assert.equal(receiver.spans.length, 1);
});

test('an application that listens to the signal decides by itself when to exit', async () => {
  await using receiver = await startOtlpReceiver();
  const { child, exit } = await program('own-handler', receiver);
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [7, null]);
  assert.equal(receiver.spans.length, 1);
});

test('spans are sent when stdin ends, while the process goes on', async () => {
  await using receiver = await startOtlpReceiver();
  const { child, exit } = await program('read-stdin', receiver);
  child.stdin.end();
  while (receiver.spans.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(child.exitCode, null);
  child.kill('SIGKILL');
  await exit;
});

test('spans are sent before a natural exit, and nothing keeps the process alive', async () => {
  await using receiver = await startOtlpReceiver();
  const { exit, child } = await program('end', receiver);
  child.stdin.end();
  assert.deepEqual(await exit, [0, null]);
  assert.equal(receiver.spans.length, 1);
});

const ENDS = [
  ['exit-in-handler', 7, 'SIGTERM'],
  ['throw', 1, undefined],
  ['exit', 3, undefined],
] as const;
for (const [mode, code, signal] of ENDS) {
  test(`spans are sent once when the program ends without waiting for it: ${mode}`, async () => {
    await using receiver = await startOtlpReceiver();
    const { exit, child, output } = await program(mode, receiver);
    if (signal !== undefined) child.kill(signal);
    assert.deepEqual(await exit, [code, null]);
    assert.deepEqual(
      receiver.spans.map(({ name, service }) => [name, service]),
      [['work', 'program']],
    );
    assert.equal(output.stdout, '');
  });
}

test('the last spans of a program that exits go to its database too', { skip: noPostgres() }, async () => {
  await using receiver = await startOtlpReceiver();
  const server = await startPostgres();
  try {
    const url = await server.createMigrated();
    const env = { MCP_OBSERVATORY_DATABASE_URL: url, EXIT_DEADLINE_MS: '30000' };
    const { exit, output } = await program('exit', receiver, env);
    assert.deepEqual(await exit, [3, null]);
    assert.doesNotMatch(output.stderr, /dropped/);
    assert.deepEqual(await runSql(url, 'SELECT service, span_name FROM mcp_traces'), [
      { service: 'program', span_name: 'work' },
    ]);
    assert.equal(receiver.spans.length, 1);
  } finally {
    await server.stop();
  }
});

test('a program that exits before its database has tables waits for these', {
  skip: noPostgres(),
}, async () => {
  await using server = await startPostgres();
  const url = await server.createDatabase();
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  // The key of migrations: they take longer than an exit may.
  await holder.query('SELECT pg_advisory_lock(7882267396523914868)');
  const { exit } = await program(
    'exit',
    { baseUrl: 'http://127.0.0.1:1' },
    { MCP_OBSERVATORY_DATABASE_URL: url, EXIT_DEADLINE_MS: '' },
  );
  await sleep(2000);
  await holder.end();
  assert.deepEqual(await exit, [3, null]);
  assert.deepEqual(await runSql(url, 'SELECT span_name FROM mcp_traces'), [{ span_name: 'work' }]);
});

test('a receiver that never answers does not keep a program that exits beyond the deadline', async () => {
  await using receiver = await startOtlpReceiver({ silent: true });
  const { exit, output } = await program('exit', receiver, { EXIT_DEADLINE_MS: '200' });
  assert.deepEqual(await exit, [3, null]);
  assert.match(
    output.stderr,
    /1 span was dropped because the process ended first: this took more than 200 ms/,
  );
});

test('at exit each destination has its own reason, and a database that fails does not concern the receiver', async () => {
  await using silent = await startOtlpReceiver({ silent: true });
  const refused = { MCP_OBSERVATORY_DATABASE_URL: 'postgresql://127.0.0.1:1/x', EXIT_DEADLINE_MS: '3000' };
  const { exit, output } = await program('exit', silent, refused);
  assert.deepEqual(await exit, [3, null]);
  assert.match(
    output.stderr,
    /1 span was dropped because the process ended first: Cannot reach the database/,
  );
  assert.match(output.stderr, /1 span was dropped because the process ended first: this took more than 3000/);
  await using receiver = await startOtlpReceiver();
  const own = await program('exit', receiver, { OWN_DATABASE: 'true' });
  await own.exit;
  assert.equal(receiver.spans.length, 1);
  assert.match(own.output.stderr, /1 span was dropped because .* the database is open in this process alone/);
});

test('a receiver that refuses connections does not delay the exit: the span is counted as dropped', async () => {
  const refusing = { baseUrl: 'http://127.0.0.1:1' };
  const { exit, output } = await program('end', refusing, { EXIT_DEADLINE_MS: '3600000' });
  assert.deepEqual(await exit, [0, null]);
  assert.match(output.stderr, /1 span was dropped because the program ended first.*ECONNREFUSED/);
});

test('an export under way that is not answered does not keep a program alive that has nothing left to do', async () => {
  await using receiver = await startOtlpReceiver({ silent: true });
  const hour = '3600000';
  const { exit, output } = await program('end-later', receiver, {
    OTEL_BSP_SCHEDULE_DELAY: '1',
    OTEL_EXPORTER_OTLP_TIMEOUT: hour,
    EXIT_DEADLINE_MS: '200',
  });
  assert.deepEqual(await exit, [0, null]);
  assert.match(
    output.stderr,
    /1 span was dropped because (?:the program ended first|neither back end nor disk answered before the end)/,
  );
});

test('the last spans of a program that exits go to its spool, and no other process has to send them', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'observatory-start-'));
  try {
    const env = { MCP_OBSERVATORY_SPOOL: directory, EXIT_DEADLINE_MS: '3600000' };
    await using receiver = await startOtlpReceiver({ silent: true });
    const { exit, output } = await program('exit', receiver, env);
    assert.deepEqual(await exit, [3, null]);
    assert.doesNotMatch(output.stderr, /observatory/);
    assert.equal((await spoolStatus(join(directory, 'otlp'))).spans, 1);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('a receiver that never answers delays the exit no longer than the deadline', async () => {
  await using receiver = await startOtlpReceiver({ silent: true });
  const { child, exit, output } = await program('wait', receiver, { EXIT_DEADLINE_MS: '200' });
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [null, 'SIGTERM']);
  assert.match(
    output.stderr,
    /1 span was dropped because (?:the program ended first|neither back end nor disk answered before the end)/,
  );
});

const NO_B3 = 'OTEL_PROPAGATORS=b3 is not supported';
const RESOURCE = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=from-resource' };

/** Each program shows a setting of the protocol, of the name and of the propagators. */
const ENVIRONMENTS = [
  { env: {}, service: 'unknown_service:node', fields: 'traceparent tracestate baggage' },
  {
    env: { ...RESOURCE, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_PROPAGATORS: 'baggage' },
    service: 'from-resource',
    fields: 'baggage',
  },
  {
    env: {
      ...RESOURCE,
      OTEL_SERVICE_NAME: 'named',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_PROPAGATORS: 'none',
    },
    service: 'named',
    fields: '',
  },
  {
    env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf', OTEL_PROPAGATORS: 'b3,tracecontext' },
    contentType: 'application/x-protobuf',
    service: 'unknown_service:node',
    fields: 'traceparent tracestate',
    warnings: [NO_B3],
  },
];
for (const { env, contentType = 'application/json', service, fields, warnings = [] } of ENVIRONMENTS) {
  test(`a program without a name in code obeys ${JSON.stringify(env)}`, async () => {
    await using receiver = await startOtlpReceiver();
    const { exit, output } = await program('unnamed', receiver, env);
    assert.deepEqual(await exit, [0, null]);
    assert.deepEqual(receiver.contentTypes, [contentType]);
    assert.equal(receiver.spans[0]?.service, service);
    assert.ok(output.stderr.includes(`ready ${fields}\n`), output.stderr);
    assert.deepEqual(
      [NO_B3].filter((warning) => output.stderr.includes(warning)),
      warnings,
    );
  });
}

test('on SDK 3 the sampler is the one of OTEL_TRACES_SAMPLER, and one that is not known leaves the default', () => {
  const sampler = (name?: string, arg?: string) =>
    samplerIn(sdk as never, { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: arg })?.toString();
  assert.equal(sampler(), undefined);
  assert.equal(sampler('toString'), undefined);
  assert.equal(sampler('always_off'), 'AlwaysOffSampler');
  assert.equal(sampler('traceidratio', '0.25'), 'TraceIdRatioBased{0.25}');
  assert.equal(sampler('traceidratio', 'much'), 'TraceIdRatioBased{1}');
  assert.match(
    sampler('parentbased_traceidratio', '0.5') ?? '',
    /^ParentBased\{root=TraceIdRatioBased\{0\.5\}/,
  );
});

test('a database that does not answer does not keep a program alive that has nothing else to do', async () => {
  await using receiver = await startOtlpReceiver();
  // Accepts connections and says nothing, for longer than a connection may take.
  const silent = createServer((socket) => socket.resume().on('error', () => {})).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const env = {
    MCP_OBSERVATORY_DATABASE_URL: `postgres://u:p@127.0.0.1:${port}/db`,
    EXIT_DEADLINE_MS: '300',
    OTEL_BSP_SCHEDULE_DELAY: '1',
  };
  const { exit, child } = await program('end', receiver, env);
  child.stdin.end();
  const began = performance.now();
  assert.deepEqual(await exit, [0, null]);
  // The timer of a connection of `pg` keeps a process alive for 10 seconds.
  assert.ok(performance.now() - began < 9_000);
  silent.close();
});
