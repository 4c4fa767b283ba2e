/** Spans of an SDK that is not ours: they are enriched as they end, and stay what they were. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { context, type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { BasicTracerProvider, type ReadableSpan, type SpanProcessor } from '@opentelemetry/sdk-trace-node';
import { ObservatorySpanProcessor as Published } from 'mcp-observatory';
import { attachInteraction, takesLateWork } from '../src/interaction/index.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { DIALECT_CASES } from './support/dialect-cases.ts';
import { CHAT_ATTRIBUTES, captureDiag, chat, observe } from './support/observed.ts';

const HASH = 'observatory.prompt_hash';

/** Takes spans as they start and end, and does with them what it is given. */
function processorOf(parts: Partial<SpanProcessor>): SpanProcessor {
  return { onStart() {}, onEnd() {}, async forceFlush() {}, async shutdown() {}, ...parts };
}

/** A processor as SDKs before 2.3 call it. */
const withoutOnEnding = (processor: ObservatorySpanProcessor): SpanProcessor =>
  processorOf({
    onStart: (span, parent) => processor.onStart(span, parent),
    onEnd: (span) => processor.onEnd(span),
  });

const WRAPS = {
  'with onEnding': (one: ObservatorySpanProcessor) => one,
  'without onEnding': withoutOnEnding,
};

const attach = (span: Span) => attachInteraction(span, { prompt: 'question', answer: 'answer' });

for (const [how, wrap] of Object.entries(WRAPS)) {
  test(`a span is enriched when its end returns, and nothing of it is replaced: an SDK ${how}`, () => {
    const states: unknown[] = [];
    const watch = processorOf({
      onStart(span) {
        let hasEnded: unknown = false;
        const set = (value: unknown) => {
          hasEnded = value;
          states.push(value);
        };
        Object.defineProperty(span, '_ended', { get: () => hasEnded, set, enumerable: true });
      },
      onEnd(span) {
        for (const name of ['attributes', 'events', 'status'])
          assert.ok('value' in (Object.getOwnPropertyDescriptor(span, name) ?? {}), name);
      },
    });
    let span: ReadableSpan | undefined;
    captureDiag(() => {
      const { tracer } = observe({ others: [watch], wrap, scope: 'mcp-observatory/openai' });
      chat(tracer, {}, (one) => {
        assert.equal(takesLateWork(one), false);
        attach(one);
        span = one as unknown as ReadableSpan;
      });
    });
    assert.match(String(span?.attributes[HASH]), /^[0-9a-f]{64}$/);
    assert.deepEqual(states, [true], 'only the SDK says that a span has ended');
    assert.equal(Object.hasOwn(span as object, Symbol.toStringTag), false);
  });
}

test('a span has the same attributes in an SDK without onEnding', () => {
  const recorded = (wrap: (typeof WRAPS)['without onEnding']) => {
    const { tracer, spans, processor } = observe({ wrap });
    captureDiag(() => {
      for (const { span: fixture } of DIALECT_CASES) {
        const span = tracer.startSpan(fixture.name ?? 'span', { kind: fixture.kind ?? 0 });
        span.setAttributes(fixture.attributes ?? {});
        for (const event of fixture.events ?? []) span.addEvent(event.name, event.attributes);
        span.end();
      }
      const prompt = 'Please pay invoice 92311 today. '.repeat(60_000);
      chat(tracer, {}, (span) =>
        attachInteraction(span, { prompt, answer: 'Paid.', retrievedContext: prompt }),
      );
      tracer.startSpan('tools/call pay', { attributes: { 'mcp.method.name': 'tools/call' } }).end();
    });
    return { attributes: spans().map(({ attributes }) => attributes), stats: processor.stats };
  };
  const old = recorded(withoutOnEnding);
  assert.ok(old.stats.enriched > 10);
  assert.equal(old.attributes.at(-2)?.['observatory.prompt_size_chars'], 1_920_000);
  const named = ({ 'observatory.counted_on': on, ...rest }: ReadableSpan['attributes']) => ({
    ...rest,
    isCounted: on === undefined,
  });
  const current = recorded(WRAPS['with onEnding']);
  assert.deepEqual(old.attributes.map(named), current.attributes.map(named));
  assert.deepEqual(old.stats, current.stats);
});

test('a frozen span, and one of another class, is enriched as it ends', () => {
  const processor = new ObservatorySpanProcessor();
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
  attach(foreign as never);
  processor.onEnding(foreign as never);
  assert.match(String(written[HASH]), /^[0-9a-f]{64}$/);
  processor.onEnding(Object.freeze({ ...foreign }) as never);
  assert.equal(processor.stats.faults, 0);
});

test('a span whose attributes somebody else has put behind an accessor is enriched, and keeps it', () => {
  const before = processorOf({
    onStart(span) {
      const { attributes } = span;
      Object.defineProperty(span, 'attributes', { get: () => attributes, enumerable: true });
    },
  });
  const { tracer, span, processor } = observe({ others: [before] });
  chat(tracer, {}, attach);
  assert.match(String(span().attributes[HASH]), /^[0-9a-f]{64}$/);
  assert.equal(typeof Object.getOwnPropertyDescriptor(span(), 'attributes')?.get, 'function');
  assert.equal(processor.stats.faults, 0);
});

test('the last answer of an agent that runs as a tool is held against the tools it called', () => {
  const { tracer, spans } = observe();
  const below = (parent: Span) => trace.setSpan(context.active(), parent);
  const startTool = (name: string, parent: Span): Span => {
    const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name };
    return tracer.startSpan(`execute_tool ${name}`, { attributes }, below(parent));
  };
  const agent = startTool('agent', tracer.startSpan('run'));
  const inner = startTool('inner', agent);
  inner.setStatus({ code: SpanStatusCode.ERROR, message: 'failed' }).end();
  const model = tracer.startSpan('chat', { kind: 2, attributes: CHAT_ATTRIBUTES }, below(agent));
  attachInteraction(model, { prompt: 'do it', answer: 'I have done it.' });
  model.end();
  agent.end();
  const answered = spans().find(({ name }) => name === 'chat');
  assert.notEqual(answered?.attributes['observatory.evidence_risk_score'], undefined);
});

test('the published processor has the methods of a SpanProcessor and its counters, and no others', () => {
  const members = {
    stats: true,
    onStart: true,
    onEnding: true,
    onEnd: true,
    forceFlush: true,
    shutdown: true,
  } satisfies Record<keyof ObservatorySpanProcessor, true>;
  const { constructor: _, ...own } = Object.getOwnPropertyDescriptors(Published.prototype);
  assert.deepEqual(Object.keys(own).sort(), Object.keys(members).sort());
  assert.deepEqual(Reflect.ownKeys(new Published()), []);
});

test('programs that never yield are left with no work', () => {
  const processor = new ObservatorySpanProcessor();
  const tracer: Tracer = new BasicTracerProvider({ spanProcessors: [processor] }).getTracer('test');
  for (let i = 0; i < 300; i += 1) chat(tracer, {}, attach);
  assert.equal(processor.stats.enriched, 300);
});
