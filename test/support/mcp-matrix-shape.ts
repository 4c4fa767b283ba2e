/** The trace that every combination of client and server program in the matrix must produce. */
import assert from 'node:assert/strict';
import type { CollectedSpan } from './otlp-collector.ts';

const CALLS = [
  'initialize',
  'notifications/initialized',
  'tools/list',
  'tools/call echo',
  'tools/call ask',
  'tools/call fail',
];

/** The shape of the trace, the same for every pair and transport. */
export function assertOneTrace(
  spans: readonly CollectedSpan[],
  clientService: string,
  serverService: string,
): void {
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
export const arrived = (spans: readonly CollectedSpan[]): boolean => spans.length >= TOTAL;

/**
 * Protocol 2026-07-28: no handshake but a probe, no requests of the server but rounds of the client's. Over stdio the
 * probe has a process of its own, which the client ends as soon as it has answered: its span may be lost with it.
 */
export function assertModernTrace(spans: readonly CollectedSpan[], transport: 'stdio' | 'http'): void {
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
export const modernArrived = (spans: readonly CollectedSpan[]): boolean =>
  spans.filter((span) => !(span.kind === 'SERVER' && span.name === 'server/discover')).length >=
  MODERN_TOTAL - 1;
