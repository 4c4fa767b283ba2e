import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { instrument, ObservatorySpanProcessor } from '../src/index.ts';
import { type CollectProcess, startCollect } from './support/collect-process.ts';
import { freePort } from './support/free-port.ts';
import { noOtelcol, startOtelcol, WITH_CONTENT } from './support/otelcol.ts';
import { startOtlpReceiver } from './support/otlp-receiver.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from './support/postgres-server.ts';
import { ProviderServer } from './support/provider-server.ts';
import { noPython, pythonProgram, pythonWithPackages } from './support/python.ts';
import { deliver, newSpanId, newTraceId, rawRequest } from './support/raw-otlp.ts';
import { waitUntil } from './support/wait-until.ts';

const DELIVERY_MS = 120_000;

let server: PostgresServer;
let folder: string;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'observatory-fleet-'));
  if (noPostgres() === false) server = await startPostgres();
});
after(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const hex = `right(replace(span_id::text, '-', ''), 16)`;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

async function storedIds(url: string): Promise<Set<string>> {
  // The table is made by the service, which may be about to.
  const rows = await runSql(url, `SELECT ${hex} AS id FROM mcp_traces`).catch(() => []);
  return new Set(rows.map(({ id }) => String(id)));
}

/** Waits until all of the spans are stored, and fails when one is missing or there are others. */
async function untilStored(url: string, sent: ReadonlySet<string>): Promise<void> {
  const deadline = Date.now() + DELIVERY_MS;
  let stored = new Set<string>();
  while (stored.size < sent.size && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    stored = await storedIds(url);
  }
  assert.deepEqual(
    [...sent].filter((id) => !stored.has(id)),
    [],
    'lost',
  );
  assert.equal(stored.size, sent.size, 'nobody sent the others');
}

describe('spans of every kind of sender, through the Collector and the service', {
  skip: noOtelcol() || noPostgres() || noPython(),
}, () => {
  test('are in mcp_traces once, with the fields that were computed from them and no text', async () => {
    const url = await server.createDatabase();
    await using apm = await startOtlpReceiver();
    await using collect = await startCollect(url);
    await using otelcol = await startOtelcol({
      apm: apm.baseUrl,
      observatory: collect.http,
      folder: join(folder, 'senders'),
      configs: [WITH_CONTENT],
    });
    const sent = new Set<string>();

    // This package.
    const provider = new NodeTracerProvider({
      spanProcessors: [
        new ObservatorySpanProcessor(),
        new BatchSpanProcessor(new OTLPTraceExporter({ url: `${otelcol.http}/v1/traces` })),
      ],
    });
    const { record } = await instrument({
      serviceName: 'payments-mcp',
      tracerProvider: provider,
    }).recordModelCall({
      model: 'gpt-4o',
      prompt: 'Is invoice 92311 paid?',
      response: 'Invoice 92311 is paid.',
      retrievedContext: 'Invoice 92311 was paid in full.',
      riskTier: 'high',
    });
    await provider.shutdown();
    sent.add(record.spanId);

    // Python, over both transports, with two instrumentations of different dialects.
    await using model = await ProviderServer.start(() => ({ body: CHAT_COMPLETION }));
    const semconv = await runPython('semconv', 'grpc', otelcol.grpc, model.url);
    const openInference = await runPython('openinference', 'http', otelcol.http, model.url);

    // By hand.
    const rawId = newSpanId();
    const traceId = newTraceId();
    await deliver(
      otelcol.http,
      rawRequest(
        [
          {
            traceId,
            spanId: rawId,
            parentSpanId: newSpanId(),
            name: 'tools/call weather',
            kind: 3,
            attributes: {
              'mcp.method.name': 'tools/call',
              'gen_ai.tool.name': 'weather',
              'gen_ai.tool.call.arguments': { city: 'Bonn' },
              'gen_ai.tool.call.result': 'Rain in Bonn',
              'error.type': 'tool_error',
              'app.tenant': 'bonn',
            },
            status: { code: 2, message: 'Rain in Bonn' },
          },
        ],
        { 'service.name': 'by-hand' },
      ),
    );
    sent.add(rawId);

    // A model span and the one around it for each call of Python.
    const calls = [...semconv, ...openInference];
    for (const { span_id } of calls) sent.add(span_id);
    const stored = await untilRows(url, sent.size + calls.length);
    assert.equal(stored.size, sent.size + calls.length);
    assert.ok([...sent].every((id) => stored.has(id)));

    const [own] = await runSql(url, `SELECT * FROM mcp_traces WHERE ${hex} = '${record.spanId}'`);
    assert.equal(own?.service, 'payments-mcp');
    assert.equal(own?.prompt_hash, sha256('Is invoice 92311 paid?'));
    assert.equal(own?.hallucination_risk_score, record.fields.hallucinationRiskScore);
    assert.equal(own?.risk_tier, 'high');

    for (const [service, calls] of [
      ['semconv', semconv],
      ['openinference', openInference],
    ] as const) {
      for (const [number, { trace_id, span_id }] of calls.entries()) {
        const [row, ...others] = await runSql(
          url,
          `SELECT *, mcp_traces::text AS everything FROM mcp_traces
           WHERE replace(trace_id::text, '-', '') = '${trace_id}' AND ${hex} <> '${span_id}'`,
        );
        assert.deepEqual(others, []);
        assert.equal(row?.service, service);
        assert.equal(String(row?.parent_span_id).replaceAll('-', '').slice(16), span_id);
        assert.equal(row?.model, 'gpt-4o-2024-08-06');
        assert.equal(row?.provider, 'openai');
        assert.equal(row?.prompt_hash, sha256(`Be brief.\n\nIs invoice ${number} paid?`), service);
        assert.equal(row?.answer_hash, sha256('yes, it is paid.'));
        assert.equal(row?.prompt_tokens, 20);
        assert.equal(row?.completion_tokens, 6);
        assert.ok(Number(row?.cost_usd) > 0);
        assert.equal(row?.finish_reason, 'stop');
        assert.ok(!String(row?.everything).includes('paid'), 'no text is stored');
      }
    }

    const [raw] = await runSql(url, `SELECT * FROM mcp_traces WHERE ${hex} = '${rawId}'`);
    assert.equal(raw?.service, 'by-hand');
    assert.equal(String(raw?.trace_id).replaceAll('-', ''), traceId);
    assert.equal(raw?.tool_name, 'weather');
    assert.equal(raw?.tool_args_hash, sha256('{"city":"Bonn"}'));
    assert.equal(raw?.status_code, 'error');
    assert.equal(raw?.status_message, null);
    // Attributes of the application are content until `--keep-attributes` names them.
    assert.equal((raw?.attributes as Record<string, unknown> | undefined)?.['app.tenant'], undefined);
  });
});

describe('either collector killed in mid-stream', { skip: noOtelcol() || noPostgres() }, () => {
  test('loses no span that was taken, and stores none twice', async () => {
    const url = await server.createDatabase();
    const collectPort = await freePort();
    const flags = ['--http', `127.0.0.1:${collectPort}`, '--grpc', 'off'];
    await using apm = await startOtlpReceiver();
    let collect: CollectProcess = await startCollect(url, flags);
    try {
      await using otelcol = await startOtelcol({
        apm: apm.baseUrl,
        observatory: `http://127.0.0.1:${collectPort}`,
        folder: join(folder, 'killed'),
      });
      const sent = new Set<string>();
      let taken = 0;
      const stream = async (requests: number) => {
        for (let request = 0; request < requests; request += 1) {
          const ids = Array.from({ length: 50 }, newSpanId);
          await deliver(
            otelcol.http,
            rawRequest(ids.map((spanId) => ({ spanId, name: 'chat' }))),
            DELIVERY_MS,
          );
          for (const id of ids) sent.add(id);
          taken += 1;
        }
      };
      const streams = [stream(60), stream(60), stream(60)];
      const untilTaken = (requests: number) => waitUntil(() => taken >= requests, DELIVERY_MS);

      await untilTaken(20);
      await collect.end('SIGKILL');
      // Taken while the service is gone, these are only in the queue when the Collector dies as well.
      await untilTaken(60);
      await otelcol.kill();
      await otelcol.restart();
      await untilTaken(90);
      collect = await startCollect(url, flags);
      await untilTaken(120);
      await otelcol.kill();
      await otelcol.restart();
      await Promise.all(streams);
      await untilStored(url, sent);
      assert.equal(sent.size, 180 * 50);
    } finally {
      await collect.end('SIGKILL');
    }
  });
});

/** A call of the Python service: the span around the one of its instrumentation. */
interface PythonCall {
  readonly trace_id: string;
  readonly span_id: string;
}

async function runPython(
  instrumentation: 'semconv' | 'openinference',
  transport: 'http' | 'grpc',
  endpoint: string,
  model: string,
): Promise<PythonCall[]> {
  const args = [pythonProgram('genai_service.py'), instrumentation, transport, '3'];
  const env = {
    PATH: process.env.PATH ?? '',
    OTEL_SERVICE_NAME: instrumentation,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OPENAI_BASE_URL: `${model}/v1`,
    OTEL_SEMCONV_STABILITY_OPT_IN: 'gen_ai_latest_experimental',
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'SPAN_ONLY',
  };
  const { stdout } = await promisify(execFile)(await pythonWithPackages(), args, { env });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as PythonCall);
}

/** Waits for that many rows. @returns their span ids. */
async function untilRows(url: string, count: number): Promise<Set<string>> {
  const deadline = Date.now() + DELIVERY_MS;
  for (;;) {
    const ids = await storedIds(url);
    if (ids.size >= count || Date.now() > deadline) return ids;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const CHAT_COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'gpt-4o-2024-08-06',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Yes, it is paid.' } }],
  usage: { prompt_tokens: 20, completion_tokens: 6, total_tokens: 26 },
};
