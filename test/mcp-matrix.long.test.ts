/**
 * Programs of their own, hooked with `--import` alone: {v1, v2} x {ES module, CommonJS} as client and as server, over
 * stdio, Streamable HTTP and in memory. Every combination must give the same one trace.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type CollectedSpan, OtlpCollector } from './support/otlp-collector.ts';

const FIXTURES = new URL('../../test/fixtures/mcp/', import.meta.url);
const fixture = (name: string) => fileURLToPath(new URL(name, FIXTURES));
const PROGRAMS = ['v1.mjs', 'v1.cjs', 'v2.mjs', 'v2.cjs'] as const;

/** Each client program meets the server program of its own kind and that of another. */
const PAIRS = PROGRAMS.flatMap((client, at) => [
  [client, client] as const,
  [client, PROGRAMS[(at + 1 + (at % 2)) % PROGRAMS.length] as string] as const,
]);

function start(
  collector: OtlpCollector,
  service: string,
  args: readonly string[],
  env: Record<string, string> = {},
): ChildProcess {
  return spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_OPTIONS: `--import ${new URL('register.mjs', FIXTURES).href}`,
      OTEL_SERVICE_NAME: service,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      ...env,
    },
  });
}

async function finish(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  const collect = async (stream: AsyncIterable<unknown> | null) => {
    let text = '';
    for await (const chunk of stream ?? []) text += String(chunk);
    return text;
  };
  const [out, err, [code]] = await Promise.all([
    collect(child.stdout),
    collect(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, out, err };
}

const CALLS = [
  'initialize',
  'notifications/initialized',
  'tools/list',
  'tools/call echo',
  'tools/call ask',
  'tools/call fail',
];

/** The shape of the trace, the same for every pair and transport. */
function assertOneTrace(spans: readonly CollectedSpan[], clientService: string, serverService: string): void {
  const app = spans.find((span) => span.name === 'app');
  assert.ok(app !== undefined);
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const only = (name: string, kind: string, service: string): CollectedSpan => {
    const found = spans.filter((span) => span.name === name && span.kind === kind);
    assert.equal(found.length, 1, `${kind} ${name}: ${found.length}`);
    const span = found[0] as CollectedSpan;
    assert.equal(span.service, service, `${kind} ${name}`);
    return span;
  };
  for (const span of spans) {
    assert.equal(span.traceId, app.traceId, `${span.kind} ${span.name} is in another trace`);
    if (span !== app) assert.ok(byId.has(span.parentSpanId), `${span.kind} ${span.name} is an orphan`);
  }
  for (const name of CALLS) {
    const client = only(name, 'CLIENT', clientService);
    assert.equal(client.parentSpanId, app.spanId, name);
    assert.equal(only(name, 'SERVER', serverService).parentSpanId, client.spanId, name);
  }
  const ask = only('tools/call ask', 'SERVER', serverService);
  const sampling = only('sampling/createMessage', 'CLIENT', serverService);
  assert.equal(sampling.parentSpanId, ask.spanId);
  assert.equal(only('sampling/createMessage', 'SERVER', clientService).parentSpanId, sampling.spanId);
  const inside = only('inside echo', 'INTERNAL', serverService);
  assert.equal(inside.parentSpanId, only('tools/call echo', 'SERVER', serverService).spanId);
  for (const [kind, service] of [
    ['CLIENT', clientService],
    ['SERVER', serverService],
  ] as const) {
    const failed = only('tools/call fail', kind, service);
    assert.equal(failed.attributes['error.type'], 'tool_error');
    assert.deepEqual(failed.status, { code: 'ERROR', message: 'Tool reported an error' });
    assert.equal(only('tools/call echo', kind, service).attributes['mcp.protocol.version'], '2025-11-25');
  }
  assert.equal(
    spans.length,
    2 + CALLS.length * 2 + 2,
    spans.map((span) => `${span.kind} ${span.name}`).join(', '),
  );
}

const TOTAL = 2 + CALLS.length * 2 + 2;
const arrived = (spans: readonly CollectedSpan[]) => spans.length >= TOTAL;

for (const [client, server] of PAIRS) {
  test(`stdio: ${client} calls ${server}`, async () => {
    await using collector = await OtlpCollector.start();
    const child = start(collector, 'client', [
      fixture(client),
      'client',
      'stdio',
      fixture(server),
      'server',
      'stdio',
    ]);
    const { code, out, err } = await finish(child);
    assert.equal(code, 0, err);
    assert.equal(out, '');
    await collector.until(arrived);
    assertOneTrace(collector.spans, 'client', 'server');
    for (const span of collector.spans) {
      if (span.attributes['mcp.method.name'] !== undefined)
        assert.equal(span.attributes['network.transport'], 'pipe');
    }
  });

  test(`Streamable HTTP: ${client} calls ${server}`, async () => {
    await using collector = await OtlpCollector.start();
    const listening = start(collector, 'server', [fixture(server), 'server', 'http']);
    try {
      const lines = createInterface({ input: listening.stdout as NodeJS.ReadableStream });
      const [url] = (await once(lines, 'line')) as [string];
      const { code, err } = await finish(
        start(collector, 'client', [fixture(client), 'client', 'http', url]),
      );
      assert.equal(code, 0, err);
      await collector.until(arrived);
      assertOneTrace(collector.spans, 'client', 'server');
      const session = collector.spans.find((span) => span.name === 'tools/list')?.attributes[
        'mcp.session.id'
      ];
      assert.equal(typeof session, 'string');
      for (const span of collector.spans) {
        const { attributes } = span;
        if (attributes['mcp.method.name'] === undefined) continue;
        assert.equal(attributes['network.transport'], 'tcp');
        assert.equal(attributes['network.protocol.name'], 'http');
        if (span.name !== 'initialize') assert.equal(attributes['mcp.session.id'], session, span.name);
        if (span.service === 'client' && span.kind === 'CLIENT') {
          assert.equal(attributes['server.address'], '127.0.0.1');
          assert.equal(attributes['server.port'], Number(new URL(url).port));
        }
        if (server.startsWith('v1') && span.service === 'server' && span.kind === 'SERVER') {
          assert.equal(attributes['client.address'], '127.0.0.1');
          assert.equal(attributes['network.protocol.version'], '1.1');
        }
      }
    } finally {
      listening.kill();
    }
  });
}

for (const program of PROGRAMS) {
  test(`in memory: ${program}`, async () => {
    await using collector = await OtlpCollector.start();
    const { code, out, err } = await finish(start(collector, 'both', [fixture(program), 'client', 'memory']));
    assert.equal(code, 0, err);
    assert.equal(out, '');
    await collector.until(arrived);
    assertOneTrace(collector.spans, 'both', 'both');
  });
}

/**
 * Protocol 2026-07-28: no handshake but a probe, no requests of the server but rounds of the client's. Over stdio the
 * probe has a process of its own, which the client ends as soon as it has answered: its span may be lost with it.
 */
function assertModernTrace(spans: readonly CollectedSpan[], transport: 'stdio' | 'http'): void {
  const app = spans.find((span) => span.name === 'app');
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  for (const span of spans) {
    assert.equal(span.traceId, app?.traceId);
    if (span !== app) assert.ok(byId.has(span.parentSpanId), `${span.kind} ${span.name} is an orphan`);
    if (span.kind === 'SERVER') assert.equal(byId.get(span.parentSpanId)?.name, span.name);
    if (span.kind !== 'INTERNAL')
      assert.equal(span.attributes['mcp.protocol.version'], '2026-07-28', span.name);
  }
  const named = (kind: string, name: string) =>
    spans.filter((span) => span.kind === kind && span.name === name);
  for (const kind of ['CLIENT', 'SERVER']) {
    for (const name of ['server/discover', 'tools/list', 'tools/call echo', 'tools/call fail']) {
      const mayBeLost = transport === 'stdio' && kind === 'SERVER' && name === 'server/discover';
      const count = named(kind, name).length;
      assert.ok(count === 1 || (mayBeLost && count === 0), `${count} of ${kind} ${name}`);
    }
    assert.equal(named(kind, 'tools/call ask').length, 2);
  }
  const [first, second] = named('CLIENT', 'tools/call ask');
  assert.ok(first?.parentSpanId === second?.spanId || second?.parentSpanId === first?.spanId);
  const probes = named('SERVER', 'server/discover').length;
  assert.equal(spans.length, MODERN_TOTAL - 1 + probes);
}

const MODERN_TOTAL = 14;
const modernArrived = (spans: readonly CollectedSpan[]) =>
  spans.filter((span) => !(span.kind === 'SERVER' && span.name === 'server/discover')).length >=
  MODERN_TOTAL - 1;

for (const [client, server] of [
  ['v2.mjs', 'v2.cjs'],
  ['v2.cjs', 'v2.mjs'],
] as const) {
  const era = { MCP_ERA: 'modern' };

  test(`2026-07-28 over stdio: ${client} calls ${server}`, async () => {
    await using collector = await OtlpCollector.start();
    const args = [fixture(client), 'client', 'stdio', fixture(server), 'server', 'stdio'];
    const { code, out, err } = await finish(start(collector, 'client', args, era));
    assert.equal(code, 0, err);
    assert.equal(out, '');
    await collector.until(modernArrived);
    assertModernTrace(collector.spans, 'stdio');
  });

  test(`2026-07-28 over HTTP: ${client} calls ${server}`, async () => {
    await using collector = await OtlpCollector.start();
    const listening = start(collector, 'server', [fixture(server), 'server', 'http'], era);
    try {
      const [url] = (await once(
        createInterface({ input: listening.stdout as NodeJS.ReadableStream }),
        'line',
      )) as [string];
      const { code, err } = await finish(
        start(collector, 'client', [fixture(client), 'client', 'http', url], era),
      );
      assert.equal(code, 0, err);
      await collector.until(modernArrived);
      assertModernTrace(collector.spans, 'http');
    } finally {
      listening.kill();
    }
  });
}
