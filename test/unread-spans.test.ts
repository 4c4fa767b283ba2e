import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { context, metrics, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, type ReadableSpan, type SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { attachInteraction, leaveLateWork, takesLateWork } from '../src/interaction/index.ts';
import {
  type ObservatorySpanProcessor,
  type ObservatorySpanProcessorOptions,
  ObservatorySpanProcessor as Processor,
} from '../src/processor/index.ts';
import { CHAT_ATTRIBUTES } from './support/observed.ts';

const HASH = 'observatory.prompt_hash';

/** Takes spans as they end, and does with them what it is given. */
function processorOf(parts: Partial<Pick<SpanProcessor, 'onEnding' | 'onEnd'>>): SpanProcessor {
  return { onStart() {}, onEnd() {}, async forceFlush() {}, async shutdown() {}, ...parts };
}

/** A pipeline of somebody else, with a scorer that says when it runs. */
function pipeline(others: readonly SpanProcessor[] = [], options: ObservatorySpanProcessorOptions = {}) {
  const scored: string[] = [];
  const verifier = {
    score({ answer }: { readonly answer: string }) {
      scored.push(answer);
      return { score: 0, reason: '' };
    },
  };
  const ended: ReadableSpan[] = [];
  const enricher: ObservatorySpanProcessor = new Processor({ signals: { verifier }, ...options });
  const spanProcessors = [enricher, ...others, processorOf({ onEnd: (span) => void ended.push(span) })];
  const provider = new BasicTracerProvider({ spanProcessors });
  const tracer = provider.getTracer('mcp-observatory/test');
  const call = (answer: string, before: (span: Span) => void = () => {}) => {
    const span = tracer.startSpan('chat', { kind: 2, attributes: CHAT_ATTRIBUTES });
    attachInteraction(span, { prompt: 'question', answer });
    before(span);
    span.end();
    return span as unknown as ReadableSpan;
  };
  return { enricher, provider, tracer, scored, ended, call };
}

/** Each way in which somebody may come to read a span that has ended. */
const READERS: Readonly<Record<string, (span: ReadableSpan) => unknown>> = {
  'its attributes': (span) => span.attributes[HASH],
  'its events': (span) => span.events[0] && span.attributes[HASH],
  'its status': (span) => span.status.code === SpanStatusCode.UNSET && span.attributes[HASH],
  'a copy of it': (span) => ({ ...span }).attributes[HASH],
  'an object that inherits from it': (span) => (Object.create(span) as ReadableSpan).attributes[HASH],
  'its entries': (span) => Object.fromEntries(Object.entries(span)).attributes?.[HASH],
  'its print': (span) => /'observatory\.prompt_hash': '(\w+)'/.exec(inspect(span, { depth: 3 }))?.[1],
  'its print without what its class says of it': (span) =>
    /'observatory\.prompt_hash': '(\w+)'/.exec(inspect(span, { depth: 3, customInspect: false }))?.[1],
  'its attributes, as it prints': (span) => /prompt_hash': '(\w+)'/.exec(inspect(span.attributes))?.[1],
};

for (const [what, read] of Object.entries(READERS)) {
  test(`a model call is scored after it, before somebody reads ${what}`, () => {
    const { call, scored } = pipeline();
    const span = call('first');
    assert.deepEqual(scored, [], 'the caller does not wait');
    assert.match(String(read(span)), /^[0-9a-f]{64}$/);
    assert.deepEqual(scored, ['first']);
    const names = Object.getOwnPropertySymbols(span).map((symbol) => symbol.description);
    assert.ok(!names.includes('mcp-observatory.unread') && !names.includes('Symbol.toStringTag'));
    assert.equal(Object.hasOwn(span, 'droppedAttributesCount'), false);
    const property = Object.getOwnPropertyDescriptor(span, 'attributes');
    assert.deepEqual([property?.writable, property?.enumerable, property?.configurable], [true, true, true]);
    assert.equal(span.events.length > 0, true, 'scores are events too');
  });
}

test('a span nobody reads is scored soon, in the order in which spans ended', async () => {
  const { call, scored } = pipeline();
  for (const answer of ['a', 'b', 'c']) call(answer);
  assert.deepEqual(scored, []);
  while (scored.length < 3) await sleep(5);
  assert.deepEqual(scored, ['a', 'b', 'c']);
});

test('reading a span scores those that ended before it, and none after it', () => {
  const { call, scored } = pipeline();
  const [, second] = ['a', 'b', 'c'].map((answer) => call(answer));
  assert.ok(second?.attributes[HASH]);
  assert.deepEqual(scored, ['a', 'b']);
});

test('few wait: a program that never yields is not left with all the work at its end', () => {
  const { call, scored } = pipeline();
  for (let i = 0; i < 1000; i += 1) call(`${i}`);
  assert.equal(scored.length, 1000 - 128);
});

test('a processor beside reads and writes spans as if they had been scored as they ended', () => {
  const seen: unknown[] = [];
  const beside = processorOf({
    onEnding: (span) => void span.setAttribute('beside.hash', String(span.attributes[HASH])),
    onEnd(span) {
      seen.push(span.attributes[HASH], span.attributes['beside.hash']);
      (span as { attributes: unknown }).attributes = { ...span.attributes, replaced: true };
    },
  });
  const { call } = pipeline([beside]);
  const span = call('answer');
  assert.match(String(seen[0]), /^[0-9a-f]{64}$/);
  assert.equal(seen[1], seen[0]);
  assert.equal(span.attributes.replaced, true);
});

test('attributes that are replaced before anybody read them stay replaced', () => {
  const drop = processorOf({
    onEnd(span) {
      (span as { attributes: unknown }).attributes = { kept: 1 };
    },
  });
  const { call, scored } = pipeline([drop]);
  assert.deepEqual(call('answer').attributes, { kept: 1 });
  assert.deepEqual(scored, ['answer']);
});

test('what our instrumentations leave is written before a processor that comes first reads the span', () => {
  const statuses: unknown[] = [];
  const first = processorOf({ onEnding: (span) => void statuses.push(span.status.code) });
  const enricher = new Processor();
  const provider = new BasicTracerProvider({ spanProcessors: [first, enricher] });
  const ours = provider.getTracer('mcp-observatory/test');
  const span = ours.startSpan('chat', { attributes: CHAT_ATTRIBUTES });
  assert.ok(takesLateWork(span));
  leaveLateWork(span, {
    characters: 4,
    write: () => void span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('left', true),
  });
  span.end();
  assert.deepEqual(statuses, [SpanStatusCode.ERROR]);
  assert.equal((span as unknown as ReadableSpan).attributes.left, true);
  assert.equal(enricher.stats.enriched, 1);
  const others = provider.getTracer('other').startSpan('chat', { attributes: CHAT_ATTRIBUTES });
  assert.equal(takesLateWork(others), false);
  assert.equal(
    takesLateWork(ours.startSpan('tools/call', { attributes: { 'mcp.method.name': 'tools/call' } })),
    false,
  );
});

test('a flush, a shutdown and the counters wait for all', async () => {
  for (const settle of [
    ({ provider }: ReturnType<typeof pipeline>) => provider.forceFlush(),
    ({ provider }: ReturnType<typeof pipeline>) => provider.shutdown(),
    ({ enricher }: ReturnType<typeof pipeline>) => assert.equal(enricher.stats.enriched, 2),
  ]) {
    const made = pipeline();
    made.call('a');
    made.call('b');
    await settle(made);
    assert.deepEqual(made.scored, ['a', 'b']);
  }
});

test('with metrics that somebody collects, or content to redact, spans are scored as they end', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  await using meters = Object.assign(new MeterProvider({ readers: [reader] }), {
    [Symbol.asyncDispose]: () => meters.shutdown(),
  });
  const read = pipeline([], { meterProvider: meters });
  read.call('answer');
  assert.deepEqual(read.scored, ['answer']);
  const redacting = pipeline([], { redactContent: true });
  redacting.call('answer', (span) => span.setAttribute('gen_ai.input.messages', 'secret'));
  assert.deepEqual(redacting.scored, ['answer']);
  assert.equal(
    JSON.stringify(Object.getOwnPropertyDescriptor(redacting.ended[0], 'attributes')?.value).includes(
      'secret',
    ),
    false,
  );
  metrics.disable();
});

test('spans around calls that wait come after them, and know what those cost', () => {
  const { tracer, call } = pipeline();
  const root = tracer.startSpan('run', { attributes: { 'gen_ai.operation.name': 'invoke_agent' } });
  context.with(trace.setSpan(context.active(), root), () => {
    const inner = tracer.startSpan(
      'chat',
      { kind: 2, attributes: CHAT_ATTRIBUTES },
      trace.setSpan(context.active(), root),
    );
    inner.setAttributes({ 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 2 });
    attachInteraction(inner, { prompt: 'p', answer: 'a' });
    inner.end();
  });
  root.setAttributes({ 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 2 });
  root.end();
  assert.equal((root as unknown as ReadableSpan).attributes['observatory.counted_on'], 'children');
  assert.ok(call('later').attributes[HASH]);
});

test('a frozen span, and one of another class, is scored as it ends', () => {
  const { enricher } = pipeline();
  const written: Record<string, unknown> = {};
  const foreign = {
    name: 'chat',
    kind: 2,
    attributes: { ...CHAT_ATTRIBUTES },
    events: [],
    status: { code: 0 },
    startTime: [1, 0],
    endTime: [0, 0],
    spanContext: () => ({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 }),
    setAttribute: (name: string, value: unknown) => Object.assign(written, { [name]: value }),
    isRecording: () => true,
  };
  attachInteraction(foreign as never, { prompt: 'p', answer: 'a' });
  enricher.onEnding(foreign as never);
  assert.match(String(written[HASH]), /^[0-9a-f]{64}$/);
  const frozen = Object.freeze({ ...foreign, _ended: false });
  enricher.onEnding(frozen as never);
  assert.equal(enricher.stats.faults, 0);
});

const LOCKS: Readonly<Record<string, (span: object) => unknown>> = {
  sealed: Object.seal,
  frozen: Object.freeze,
};

for (const [how, lock] of Object.entries(LOCKS)) {
  test(`a span that is ${how} after its end is scored when it is read, or soon, and stops no other`, async () => {
    const { call, scored, ended } = pipeline([processorOf({ onEnd: (span) => void lock(span) })]);
    const span = call('read');
    assert.match(String(span.attributes[HASH]), /^[0-9a-f]{64}$/);
    assert.equal(span.attributes[HASH], span.attributes[HASH]);
    assert.equal(span.events.length > 0, true);
    call('waits');
    const last = call('last');
    while (scored.length < 3) await sleep(5);
    assert.deepEqual(scored, ['read', 'waits', 'last'], 'each once');
    assert.match(String(last.attributes[HASH]), /^[0-9a-f]{64}$/);
    assert.equal(ended.length, 3);
  });
}

test('a plain span that is frozen while it waits for its turn does not throw', async () => {
  const { call, tracer, scored, enricher } = pipeline();
  call('before');
  const plain = tracer.startSpan('GET');
  plain.end();
  Object.freeze(plain);
  call('after');
  while (scored.length < 2) await sleep(5);
  assert.equal(enricher.stats.faults, 0);
});

/** Ways to make something of a span that has properties of its own, without reading the span. */
const COPIES: Readonly<Record<string, (span: ReadableSpan) => ReadableSpan>> = {
  'an object that inherits from it': (span) => Object.create(span) as ReadableSpan,
  'a copy of its descriptors': (span) =>
    Object.create(Object.getPrototypeOf(span), Object.getOwnPropertyDescriptors(span)) as ReadableSpan,
};

for (const [what, copyOf] of Object.entries(COPIES)) {
  test(`what is written to ${what} is not written to the span`, () => {
    const { call } = pipeline();
    const span = call('answer');
    const copy = copyOf(span) as { attributes: unknown; status: unknown };
    copy.attributes = { redacted: true };
    assert.deepEqual(copy.attributes, { redacted: true });
    assert.match(String(span.attributes[HASH]), /^[0-9a-f]{64}$/);
    assert.deepEqual(copy.status, span.status);
  });
}

test('a span says how much it has dropped before anything else of it is read', () => {
  const dropped = (name: 'droppedAttributesCount' | 'droppedEventsCount') => {
    const enricher = new Processor();
    const spanLimits = { attributeCountLimit: 6, eventCountLimit: 1 };
    const provider = new BasicTracerProvider({ spanProcessors: [enricher], spanLimits });
    const span = provider.getTracer('test').startSpan('chat', { attributes: CHAT_ATTRIBUTES });
    attachInteraction(span, { prompt: 'question', answer: 'answer' });
    span.end();
    const ended = span as unknown as ReadableSpan;
    const first = ended[name];
    assert.ok(ended.attributes);
    assert.equal(first, ended[name]);
    return first;
  };
  assert.ok(dropped('droppedAttributesCount') > 0);
  assert.ok(dropped('droppedEventsCount') > 0);
});

test('of two processors the first enriches, as it would at the end, no matter who reads', async () => {
  const second = new Processor({
    captureContent: true,
    signals: { verifier: { score: () => ({ score: 1, reason: 'second' }) } },
  });
  const { call, scored, enricher } = pipeline([second]);
  const span = call('answer');
  assert.equal(span.attributes['observatory.verifier_score'], 0);
  assert.equal(span.attributes['gen_ai.input.messages'], undefined, 'the first captures no content');
  assert.deepEqual(scored, ['answer']);
  assert.deepEqual([enricher.stats.enriched, second.stats.enriched], [1, 0]);
});

test('a span whose attributes somebody else has put behind an accessor is scored as it ends, and keeps it', () => {
  let reads = 0;
  const before = processorOf({});
  before.onStart = (span) => {
    const { attributes } = span;
    const get = () => {
      reads += 1;
      return attributes;
    };
    Object.defineProperty(span, 'attributes', { get, enumerable: true });
  };
  const enricher = new Processor();
  const provider = new BasicTracerProvider({ spanProcessors: [before, enricher] });
  const span = provider.getTracer('test').startSpan('chat', { attributes: CHAT_ATTRIBUTES });
  attachInteraction(span, { prompt: 'question', answer: 'answer' });
  span.end();
  const known = reads;
  assert.match(String((span as unknown as ReadableSpan).attributes[HASH]), /^[0-9a-f]{64}$/);
  assert.equal(reads, known + 1);
  assert.equal(enricher.stats.faults, 0);
});

test('a reader finds all fields on a span whose long messages are being read', async () => {
  const { provider } = pipeline();
  const content = 'Please pay invoice 92311 today. '.repeat(60_000);
  const messages = JSON.stringify([{ role: 'user', parts: [{ type: 'text', content }] }]);
  const expected = new Map<string, unknown>();
  for (let turns = 0; turns < 12; turns += 1) {
    const span = provider.getTracer('other').startSpan('chat', {
      kind: 2,
      attributes: { ...CHAT_ATTRIBUTES, 'gen_ai.input.messages': messages },
    });
    span.end();
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const { attributes } = span as unknown as ReadableSpan;
    for (const [key, value] of Object.entries(attributes)) {
      if (!expected.has(key)) expected.set(key, value);
      assert.equal(value, expected.get(key), key);
    }
    assert.equal(Object.keys(attributes).length, expected.size, `after ${turns} turns`);
    assert.equal(typeof attributes[HASH], 'string');
  }
});
