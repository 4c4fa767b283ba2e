import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { parse } from 'yaml';
import { FIELDS, toAttribute } from '../src/base/fields.ts';
import { isKept } from '../src/processor/kept-attributes.ts';
import { DIALECT_CASES } from './support/dialect-cases.ts';
import {
  GATEWAY,
  noOtelcol,
  SHIPPED,
  startOtelcol,
  validateConfig,
  WITH_CLICKHOUSE,
  WITH_CONTENT,
} from './support/otelcol.ts';
import { type OtlpReceiver, startOtlpReceiver } from './support/otlp-receiver.ts';
import {
  deliver,
  newTraceId,
  postTraces,
  type RawSpan,
  type RawValue,
  rawRequest,
} from './support/raw-otlp.ts';
import { waitUntil } from './support/wait-until.ts';

const folder = mkdtempSync(join(tmpdir(), 'observatory-otelcol-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let folders = 0;

/** The Collector between a sender and two receivers. */
async function startBoth(configs: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const apm = await startOtlpReceiver();
  const observatory = await startOtlpReceiver();
  folders += 1;
  const otelcol = await startOtelcol({
    apm: apm.baseUrl,
    observatory: observatory.baseUrl,
    folder: join(folder, String(folders)),
    configs,
    env,
  });
  const close = async () => {
    await otelcol[Symbol.asyncDispose]();
    await apm[Symbol.asyncDispose]();
    await observatory[Symbol.asyncDispose]();
  };
  return { apm, observatory, otelcol, [Symbol.asyncDispose]: close };
}

const PLANTED = 'planted-secret';

/** The same value with a word in every text that must not come out. */
function planted(value: unknown): RawValue {
  if (typeof value === 'string') return `${value} ${PLANTED}`;
  if (Array.isArray(value)) return value.map(planted);
  return value as RawValue;
}

function plantedRecord(record: Readonly<Record<string, unknown>> = {}): Record<string, RawValue> {
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => [
      key,
      isKept(key, value) ? (value as RawValue) : planted(value),
    ]),
  );
}

/** Spans of every dialect with a secret in everything that is said, and spans that plant it where nobody looks. */
function spansWithSecrets(): RawSpan[] {
  const secret = `${PLANTED} text`;
  const everywhere: RawSpan = {
    name: 'chat',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.some_future_content': secret,
      'my.framework.thoughts': secret,
      'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: secret }] }],
      'gen_ai.tool.definitions': { nested: { deep: [secret] } },
      'gen_ai.prompt.variable.age': secret,
      'mcp.request.argument.query': secret,
      'http.request.header.authorization': secret,
      'url.full': `https://example.com/?q=${secret}`,
      'db.query.text': `SELECT '${secret}'`,
      'process.command_line': secret,
      'code.stacktrace': secret,
    },
    events: [
      {
        name: 'exception',
        attributes: {
          'exception.type': 'Error',
          'exception.message': secret,
          'exception.stacktrace': secret,
        },
      },
      { name: 'log', attributes: { body: secret, message: secret, 'observatory.progress.message': secret } },
    ],
    status: { code: 2, message: secret },
  };
  const dialects = DIALECT_CASES.map(({ span }): RawSpan => {
    const events = (span.events ?? []).map(({ name, attributes }) => ({
      name,
      attributes: plantedRecord(attributes),
    }));
    return {
      name: span.name ?? 'span',
      attributes: plantedRecord(span.attributes),
      events,
    };
  });
  return [everywhere, ...dialects];
}

const holds = (receiver: OtlpReceiver, text: string) => receiver.bodies.some((body) => body.includes(text));

describe('the shipped configuration of the standard Collector', { skip: noOtelcol() }, () => {
  test('is valid, with and without content for the service, and so is that of the gateway', async () => {
    const env = { APM_OTLP_ENDPOINT: 'http://127.0.0.1:1', COLLECTOR_QUEUE_DIR: folder };
    await validateConfig([SHIPPED], env);
    await validateConfig([SHIPPED, WITH_CONTENT], env);
    await validateConfig([SHIPPED, WITH_CLICKHOUSE], env);
    await validateConfig([GATEWAY], { COLLECTOR_PEERS: 'localhost' });
    await assert.rejects(validateConfig([SHIPPED, 'yaml:receivers::none::a: b'], env), /none/);
  });

  test('lets no text of any dialect, resource, scope, event or status through to either back end', async () => {
    await using both = await startBoth([], { APM_SAMPLING_PERCENTAGE: '100' });
    const spans = spansWithSecrets();
    const resource = { 'service.name': 'raw', 'process.command_args': [PLANTED] };
    const scope = { name: 'raw', attributes: { note: PLANTED } };
    await deliver(both.otelcol.http, rawRequest(spans, resource, scope));
    for (const receiver of [both.apm, both.observatory]) {
      await waitUntil(() => receiver.spans.length >= spans.length, 60_000);
      assert.equal(holds(receiver, PLANTED), false);
      const chat = receiver.spans.find(({ name }) => name === 'chat');
      assert.equal(chat?.service, 'raw');
      assert.equal(chat?.attributes['gen_ai.operation.name'], 'chat');
      assert.equal(chat?.status.code, 2, 'its failure is recorded');
      assert.equal(chat?.events[0]?.attributes['exception.type'], 'Error', 'and as what');
    }
  });

  test('masks keys and tokens in attributes that may stay', async () => {
    await using both = await startBoth([], { APM_SAMPLING_PERCENTAGE: '100' });
    const secrets = [
      `sk-proj-${'a'.repeat(30)}`,
      `ghp_${'B'.repeat(36)}`,
      'AKIAIOSFODNN7EXAMPLE',
      `AIza${'c'.repeat(35)}`,
      `Bearer ${'d'.repeat(24)}`,
      `eyJ${'e'.repeat(12)}.eyJ${'f'.repeat(12)}.${'g'.repeat(12)}`,
      '-----BEGIN RSA PRIVATE KEY-----',
    ];
    const spans = secrets.map((secret) => ({
      attributes: {
        'gen_ai.agent.name': `agent ${secret}`,
        'gen_ai.response.finish_reasons': ['stop', secret],
      },
    }));
    await deliver(both.otelcol.http, rawRequest(spans));
    for (const receiver of [both.apm, both.observatory]) {
      await waitUntil(() => receiver.spans.length >= spans.length, 60_000);
      for (const secret of secrets) assert.equal(holds(receiver, secret), false, secret);
      assert.ok(
        receiver.spans.every(({ attributes }) =>
          String(attributes['gen_ai.agent.name']).startsWith('agent '),
        ),
      );
    }
  });

  test('sends text to the service only when configured to', async () => {
    await using both = await startBoth([WITH_CONTENT], { APM_SAMPLING_PERCENTAGE: '100' });
    const spans = spansWithSecrets();
    await deliver(both.otelcol.http, rawRequest(spans));
    await waitUntil(() => both.observatory.spans.length >= spans.length, 60_000);
    await waitUntil(() => both.apm.spans.length >= spans.length, 60_000);
    assert.equal(holds(both.observatory, PLANTED), true);
    assert.equal(holds(both.apm, PLANTED), false);
  });

  test('sends the APM back end whole traces with something wrong, and the service every span', async () => {
    await using both = await startBoth([], { APM_SAMPLING_PERCENTAGE: '0' });
    const wrong: readonly (readonly [string, RawSpan])[] = [
      ['failed', { status: { code: 2 } }],
      ['failed without a status', { attributes: { 'error.type': 'tool_error' } }],
      ['blocked by a gate', { attributes: { 'observatory.gate_blocked': true } }],
      ['denied by policy', { attributes: { 'observatory.policy_decision': 'deny' } }],
      ['to be approved', { attributes: { 'observatory.policy_decision': 'require_approval' } }],
      ['risky', { attributes: { 'observatory.hallucination_risk_level': 'high' } }],
      ['a claim against the tool', { attributes: { 'observatory.tool_claim_mismatch': true } }],
      ['of a high tier', { attributes: { 'observatory.risk_tier': 'high' } }],
      ['fell back', { attributes: { 'observatory.fallback_used': true } }],
    ];
    const fine: readonly RawSpan[] = [
      { attributes: { 'observatory.hallucination_risk_level': 'low', 'observatory.gate_blocked': false } },
      { attributes: { 'observatory.policy_decision': 'allow', 'observatory.fallback_used': false } },
    ];
    const traces = [...wrong, ...fine.map((span) => ['fine', span] as const)].map(([name, span]) => {
      const traceId = newTraceId();
      return [
        { name: `${name}: root`, traceId },
        { ...span, name: `${name}: the span`, traceId },
        { name: `${name}: another`, traceId },
      ];
    });
    await deliver(both.otelcol.http, rawRequest(traces.flat()));
    await waitUntil(() => both.observatory.spans.length >= traces.flat().length, 60_000);
    await waitUntil(() => both.apm.spans.length >= 3 * wrong.length, 60_000);
    const names = both.apm.spans.map(({ name }) => name).sort();
    assert.deepEqual(
      names,
      wrong.flatMap(([name]) => [`${name}: another`, `${name}: root`, `${name}: the span`]).sort(),
    );
  });
});

describe('the gateway of a fleet', { skip: noOtelcol() }, () => {
  test('sends whole traces to one collector each, and answers when it has them', async () => {
    await using first = await startBoth([], { APM_SAMPLING_PERCENTAGE: '100' });
    await using second = await startBoth([], { APM_SAMPLING_PERCENTAGE: '100' });
    const peers = [first, second].map(({ otelcol }) => otelcol.grpc.slice('http://'.length));
    await using gateway = await startOtelcol({
      base: GATEWAY,
      folder: join(folder, 'gateway'),
      configs: [
        `yaml:exporters::load_balancing::resolver: {dns: null, static: {hostnames: [${peers.map((peer) => `"${peer}"`).join(',')}]}}`,
      ],
      env: { COLLECTOR_PEERS: 'localhost' },
    });
    const traceIds = Array.from({ length: 40 }, newTraceId);
    // The spans of a trace come in requests of their own, as they do from several services.
    for (let part = 0; part < 3; part += 1) {
      await deliver(gateway.http, rawRequest(traceIds.map((traceId) => ({ traceId, name: `part ${part}` }))));
    }
    const all = () => first.observatory.spans.length + second.observatory.spans.length;
    await waitUntil(() => all() >= 120, 60_000);
    const tracesOf = ({ observatory }: typeof first) =>
      new Set(observatory.spans.map(({ traceId }) => traceId));
    const shared = [...tracesOf(first)].filter((traceId) => tracesOf(second).has(traceId));
    assert.deepEqual(shared, []);
    assert.ok(tracesOf(first).size > 0 && tracesOf(second).size > 0, 'both have work');

    await first.otelcol.kill();
    await second.otelcol.kill();
    const refused = await postTraces(gateway.http, rawRequest([{ name: 'nobody is there' }]));
    assert.equal(refused.status, 503, 'the sender is asked to retry');
  });
});

describe('the list of names that may pass', () => {
  const config = parse(readFileSync(SHIPPED, 'utf8')) as {
    processors: Record<string, { allowed_keys: readonly string[] }>;
  };
  const allowed = new Set(config.processors['redaction/no_content']?.allowed_keys);

  test('has every attribute column of mcp_traces', () => {
    for (const { column, origin } of FIELDS) {
      if (origin !== 'attribute') continue;
      assert.ok(allowed.has(toAttribute(column)), column);
    }
  });
});
