import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type Context, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter as GrpcExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtoExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type Span,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import pg from 'pg';
import { type Collector, startCollector } from '../src/collector/index.ts';
import { attachInteraction } from '../src/interaction/index.ts';
import { PostgresSpanExporter } from '../src/postgres/index.ts';
import { Enricher, ObservatorySpanProcessor } from '../src/processor/index.ts';
import { readRows } from './support/databases.ts';
import { DIALECT_CASES } from './support/dialect-cases.ts';
import { exportSpans } from './support/export.ts';
import { onTheWire } from './support/on-the-wire.ts';
import { encodeJson, encodeProtobuf, type RequestJson, requestJson } from './support/otlp-encode.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from './support/postgres-server.ts';
import { randomSpans } from './support/random-spans.ts';
import { recordSpan } from './support/span-fixture.ts';
import { altered } from './support/spans.ts';

/** Keeps spans as they are before they are enriched, which is how a program without this package sends them. */
class RawCopies implements SpanProcessor {
  readonly requests: RequestJson[] = [];

  onStart(): void {}

  onEnding(span: Span): void {
    this.requests.push(requestJson([span]));
  }

  onEnd(): void {}

  async forceFlush(): Promise<void> {}

  async shutdown(): Promise<void> {}
}

function recordSpans() {
  const finished = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(finished)] });
  return { provider, finish: () => finished.getFinishedSpans() };
}

/** A trace of every dialect, with errors, events and links beside. */
function runProgram(provider: NodeTracerProvider): void {
  for (const { span: fixture } of DIALECT_CASES) {
    const tracer = provider.getTracer(fixture.scope ?? 'parity', '1.2.3', {
      schemaUrl: 'https://example.com/1',
    });
    const span = tracer.startSpan(fixture.name ?? 'span', { kind: fixture.kind ?? 0 });
    span.setAttributes(fixture.attributes ?? {});
    for (const event of fixture.events ?? []) span.addEvent(event.name, event.attributes);
    span.addLink({ context: span.spanContext(), attributes: { why: 'itself' } });
    span.recordException(new Error('It quotes: What is the weather?'));
    span.setStatus({ code: SpanStatusCode.ERROR, message: 'It quotes: What is the weather?' });
    span.end();
  }
}

describe('a trace in process and through the collector', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  const pools: pg.Pool[] = [];
  before(async () => {
    server = await startPostgres();
  });
  after(async () => {
    for (const pool of pools) await pool.end();
    await server.stop();
  });

  /** A database, and a collector for it. */
  async function open(captureContent = false): Promise<{ url: string; pool: pg.Pool; collector: Collector }> {
    const url = await server.createMigrated();
    const pool = new pg.Pool({ connectionString: url });
    pools.push(pool);
    const anywhere = { host: '127.0.0.1', port: 0 };
    const collector = await startCollector({
      databaseUrl: url,
      http: anywhere,
      grpc: anywhere,
      captureContent,
    });
    return { url, pool, collector };
  }

  async function send(collector: Collector, type: string, body: Buffer): Promise<void> {
    const headers = { 'content-type': type };
    const answer = await fetch(`${collector.httpUrl}/v1/traces`, { method: 'POST', headers, body });
    const expected = type.endsWith('json') ? '{}' : '';
    assert.deepEqual([answer.status, await answer.text()], [200, expected]);
  }

  const inProcess = async (spans: readonly ReadableSpan[]) => {
    const pool = new pg.Pool({ connectionString: await server.createMigrated() });
    pools.push(pool);
    const answer = await exportSpans(new PostgresSpanExporter({ connection: pool }), spans);
    assert.equal(answer.code, 0, answer.error?.message);
    return readRows(pool, 'trace_id, span_id');
  };

  for (const captureContent of [false, true]) {
    const title = captureContent ? 'content that is kept' : 'content that is removed';
    test(`gives the same rows of every dialect, column by column, with ${title}`, async () => {
      const copies = new RawCopies();
      const finished = new InMemorySpanExporter();
      const observatory = new ObservatorySpanProcessor({ redactContent: !captureContent });
      const provider = new NodeTracerProvider({
        spanProcessors: [copies, observatory, new SimpleSpanProcessor(finished)],
      });
      runProgram(provider);
      const expected = await inProcess(finished.getFinishedSpans());
      const { pool, collector } = await open(captureContent);
      const half = copies.requests.length >> 1;
      for (const [i, request] of copies.requests.entries()) {
        if (i < half) await send(collector, 'application/x-protobuf', encodeProtobuf(request));
        else await send(collector, 'application/json', Buffer.from(JSON.stringify(request)));
      }
      await collector.close();
      assert.deepEqual(await readRows(pool, 'trace_id, span_id'), expected);
      const text = JSON.stringify(expected);
      assert.equal(text.includes('What is the weather?'), captureContent);
      assert.ok(expected.some((row) => row.prompt_hash !== null && row.hallucination_risk_score !== null));
      assert.ok(expected.some((row) => row.cost_usd !== null));
    });
  }

  test('holds an answer against the calls of its trace that arrived before it or with it, and says that it may lack some', async () => {
    const { pool, collector } = await open();
    const { provider, finish } = recordSpans();
    const tracer = provider.getTracer('pieces');
    const inRun = (write: (inside: Context) => void) => {
      const root = tracer.startSpan('run');
      write(trace.setSpan(ROOT_CONTEXT, root));
    };
    const call = (inside: Context, isError: boolean) => {
      const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'cancel_order' };
      const span = tracer.startSpan('execute_tool cancel_order', { attributes }, inside);
      if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    };
    const answer = (inside: Context) => {
      const said = (role: string, content: string) =>
        JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);
      const attributes = {
        'gen_ai.operation.name': 'chat',
        'gen_ai.input.messages': said('user', 'Cancel order 7.'),
        'gen_ai.output.messages': said('assistant', 'Order 7 has been cancelled.'),
      };
      tracer.startSpan('chat gpt-4o', { attributes }, inside).end();
    };
    for (const isError of [true, false])
      inRun((inside) => {
        call(inside, isError);
        answer(inside);
      });
    const spans = finish();
    const pieces = [spans.slice(0, 1), spans.slice(1, 2), spans.slice(2).reverse()];
    for (const piece of pieces)
      await send(collector, 'application/x-protobuf', encodeProtobuf(requestJson(piece)));
    await collector.close();
    const rows = await pool.query(
      "SELECT evidence_partial, evidence_findings::jsonb -> 0 ->> 'kind' AS kind FROM mcp_traces WHERE span_name LIKE 'chat%' ORDER BY start_time",
    );
    assert.deepEqual(rows.rows, [
      { evidence_partial: true, kind: 'tool_failed_claimed_success' },
      { evidence_partial: true, kind: null },
    ]);
  });

  test('gives the same rows of spans with values of every kind', async () => {
    const spans = randomSpans(150, 21).map(onTheWire);
    const [asProtobuf, asJson] = [requestJson(spans.slice(0, 75)), encodeJson(spans.slice(75))];
    const { pool, collector } = await open();
    await send(collector, 'application/x-protobuf', encodeProtobuf(asProtobuf));
    await send(collector, 'application/json', asJson);
    await collector.close();
    const enricher = new Enricher({ redactContent: true });
    for (const span of spans) enricher.enrichReceived(span);
    assert.deepEqual(await readRows(pool, 'trace_id, span_id'), await inProcess(spans));
  });

  test('gives the same rows of spans that were enriched in process and sent on by the exporters of the SDK', async () => {
    const { pool, collector } = await open();
    const url = `${collector.httpUrl}/v1/traces`;
    const makers = [
      () => new ProtoExporter({ url }),
      () => new JsonExporter({ url }),
      () => new GrpcExporter({ url: `http://${collector.grpcAddress}` }),
    ];
    const all: ReadableSpan[] = [];
    for (const make of makers) {
      const finished = new InMemorySpanExporter();
      const processors = [
        new ObservatorySpanProcessor({ redactContent: true }),
        new SimpleSpanProcessor(finished),
      ];
      const provider = new NodeTracerProvider({ spanProcessors: processors });
      runProgram(provider);
      const span = provider.getTracer('own').startSpan('chat gpt-4o');
      attachInteraction(span, {
        prompt: 'What is the weather?',
        answer: 'It rains.',
        model: 'gpt-4o',
        provider: 'openai',
      });
      span.end();
      const exporter = make();
      assert.equal((await exportSpans(exporter, finished.getFinishedSpans())).code, 0);
      await exporter.shutdown();
      all.push(...finished.getFinishedSpans());
    }
    await collector.close();
    assert.deepEqual(await readRows(pool, 'trace_id, span_id'), await inProcess(all));
  });

  test('keeps the attributes of scopes, of each protocol and without content', async () => {
    const { url, collector } = await open();
    const http = `${collector.httpUrl}/v1/traces`;
    const exporters = [
      new ProtoExporter({ url: http }),
      new JsonExporter({ url: http }),
      new GrpcExporter({ url: `http://${collector.grpcAddress}` }),
    ];
    const named = { 'service.namespace': 'payments', 'gen_ai.response.finish_reasons': ['a', 'b'] };
    const attributes = { ...named, 'gen_ai.prompt': 'The launch code' };
    const instrumentationScope = { name: 'lib', attributes, droppedAttributesCount: 3 };
    for (const exporter of exporters) {
      const span = recordSpan({ name: 'chat', attributes: { 'gen_ai.operation.name': 'chat' } });
      assert.equal((await exportSpans(exporter, [altered(span, { instrumentationScope })])).code, 0);
      await exporter.shutdown();
    }
    await collector.close();
    const rows = await runSql(
      url,
      `SELECT scope, attributes -> 'otel.scope.attributes' AS attributes,
         attributes -> 'otel.scope.dropped_attributes_count' AS dropped FROM mcp_traces`,
    );
    const kept = { scope: 'lib', attributes: named, dropped: 3 };
    assert.deepEqual(rows, [kept, kept, kept]);
  });

  test('computes hashes and scores from content that is not stored anywhere', async () => {
    const { url, collector } = await open();
    const secret = 'The launch code is 7-alpha-9';
    const attributes = [
      { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
      { key: 'gen_ai.request.model', value: { stringValue: 'gpt-4o' } },
      { key: 'gen_ai.prompt.0.content', value: { stringValue: secret } },
      { key: 'gen_ai.prompt.0.role', value: { stringValue: 'user' } },
      { key: 'gen_ai.completion.0.content', value: { stringValue: secret } },
    ];
    const span = {
      traceId: '1'.repeat(32),
      spanId: '2'.repeat(16),
      name: 'chat',
      attributes,
      events: [{ name: 'gen_ai.choice', attributes: [{ key: 'message', value: { stringValue: secret } }] }],
      status: { code: 2, message: secret },
    };
    const request = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
    await send(collector, 'application/json', Buffer.from(JSON.stringify(request)));
    await collector.close();
    const [row] = await runSql(
      url,
      'SELECT mcp_traces::text AS row, prompt_hash, answer_hash FROM mcp_traces',
    );
    const hash = createHash('sha256').update(secret).digest('hex');
    assert.equal(row?.prompt_hash, hash);
    assert.match(String(row?.answer_hash), /^[0-9a-f]{64}$/);
    assert.doesNotMatch(String(row?.row), /launch|alpha/);
  });
});
