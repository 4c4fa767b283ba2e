import assert from 'node:assert/strict';
import { test } from 'node:test';
import { context, type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanLimits,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { ensureContextManager } from '../src/base/index.ts';
import {
  attachConversation,
  attachInteraction,
  leaveLateWork,
  type Message,
  takesLateWork,
} from '../src/interaction/index.ts';
import {
  DeferredEnrichment,
  Enricher,
  ObservatorySpanProcessor,
  type ObservatorySpanProcessorOptions,
  setGovernance,
} from '../src/processor/index.ts';
import { DIALECT_CASES } from './support/dialect-cases.ts';
import { CHAT_ATTRIBUTES, chat } from './support/observed.ts';

type Pipeline = 'as it ends' | 'deferred';

/** Reads each span as it ends, as a processor may. */
const READER: SpanProcessor = {
  onStart() {},
  onEnd: (span) => assert.ok(span.attributes),
  async forceFlush() {},
  async shutdown() {},
};

/** What an exporter gets of the spans that `make` ends. */
async function exported(
  pipeline: Pipeline,
  make: (tracer: Tracer) => void,
  options: ObservatorySpanProcessorOptions = {},
  spanLimits: SpanLimits = {},
) {
  const memory = new InMemorySpanExporter();
  const exporting = new SimpleSpanProcessor(memory);
  const settings: ObservatorySpanProcessorOptions = { signals: { verifier: 'evidence' }, ...options };
  const late = new Enricher(settings);
  const ending = new ObservatorySpanProcessor(settings);
  const isDeferred = pipeline === 'deferred';
  const spanProcessors = isDeferred ? [new DeferredEnrichment(late, [exporting])] : [ending, exporting];
  const provider = new BasicTracerProvider({ spanProcessors, spanLimits });
  make(provider.getTracer('test'));
  await provider.forceFlush();
  return { spans: memory.getFinishedSpans(), stats: (isDeferred ? late : ending).stats };
}

/** What rows are made of, without times; an id that names a span by its place. */
function told(spans: readonly ReadableSpan[]) {
  const places = new Map(spans.map((span, place) => [span.spanContext().spanId, `span ${place}`]));
  return spans.map((span) => toldOf(span, places));
}

function toldOf(span: ReadableSpan, places: ReadonlyMap<string, string>) {
  const { name, kind, events, status, ended, droppedAttributesCount } = span;
  const countedOn = span.attributes['observatory.counted_on'];
  return {
    name,
    kind,
    attributes: {
      ...span.attributes,
      ...(typeof countedOn === 'string' && { 'observatory.counted_on': places.get(countedOn) ?? countedOn }),
    },
    events: events.map((event) => [event.name, event.attributes]),
    status,
    ended,
    droppedAttributesCount,
  };
}

async function assertSame(
  make: (tracer: Tracer) => void,
  options?: ObservatorySpanProcessorOptions,
  limits?: SpanLimits,
) {
  const direct = await exported('as it ends', make, options, limits);
  const deferred = await exported('deferred', make, options, limits);
  assert.ok(direct.spans.length > 0);
  assert.deepEqual(told(deferred.spans), told(direct.spans));
  assert.deepEqual(deferred.stats, direct.stats);
  return deferred.spans;
}

function endDialects(tracer: Tracer): void {
  for (const { span: fixture } of DIALECT_CASES) {
    const kind = fixture.kind === undefined ? {} : { kind: fixture.kind };
    const span = tracer.startSpan(fixture.name ?? 'span', kind);
    span.setAttributes(fixture.attributes ?? {});
    for (const event of fixture.events ?? []) span.addEvent(event.name, event.attributes);
    span.end();
  }
}

function answer(span: Span, messages: Message[]): void {
  attachConversation(span, {
    provider: 'openai',
    messages: () => messages,
    answer: () => 'Invoice 92311 was approved on 2026-02-10.',
    model: () => 'gpt-4o',
    usage: () => ({ inputTokens: 1200, outputTokens: 30 }),
    tools: [{ type: 'function', function: { name: 'approve', parameters: { type: 'object' } } }],
    calledNone: () => false,
  });
}

for (const redactContent of [false, true]) {
  test(`spans of every dialect are exported the same enriched later as enriched as they end${redactContent ? ', redacted' : ''}`, async () => {
    await assertSame(endDialects, { redactContent, contextTax: false });
  });
}

test('attached conversations, tool calls and governance are recorded the same', async () => {
  ensureContextManager();
  try {
    const spans = await assertSame(
      (tracer) => {
        const governed = setGovernance(context.active(), { riskTier: 'high', userId: 'u1' });
        const run = tracer.startSpan('run', { attributes: { 'gen_ai.operation.name': 'invoke_agent' } });
        context.with(trace.setSpan(governed, run), () => {
          const tool = tracer.startSpan('execute_tool approve', {
            attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'approve' },
          });
          attachInteraction(tool, { toolArguments: { b: [1, { c: 'x' }], a: null } });
          tool.setStatus({ code: SpanStatusCode.ERROR, message: 'secret words' });
          tool.end();
          const outer = tracer.startSpan('chat', { kind: 2, attributes: CHAT_ATTRIBUTES });
          context.with(trace.setSpan(context.active(), outer), () => {
            const inner = tracer.startSpan('chat', { kind: 2, attributes: CHAT_ATTRIBUTES });
            answer(inner, [{ role: 'user', parts: [{ type: 'text', content: 'Was invoice 92311 paid?' }] }]);
            inner.end();
          });
          outer.setAttributes({ 'gen_ai.usage.input_tokens': 1200, 'gen_ai.usage.output_tokens': 30 });
          outer.end();
          tracer.startSpan('GET', { attributes: { 'url.full': 'http://x/?q=secret' } }).end();
        });
        run.end();
      },
      { redactContent: true },
    );
    const [tool, inner, outer] = spans;
    assert.equal(typeof tool?.attributes['observatory.tool_args_hash'], 'string');
    assert.equal(typeof inner?.attributes['observatory.cost_usd'], 'number');
    assert.equal(outer?.attributes['observatory.counted_on'], inner?.spanContext().spanId);
    assert.equal(tool?.attributes['observatory.risk_tier'], 'high');
  } finally {
    context.disable();
  }
});

test('limits of the SDK hold for what is written later', async () => {
  const long = 'word '.repeat(400);
  const limits = { attributeCountLimit: 9, attributeValueLengthLimit: 20 };
  const make = (tracer: Tracer) =>
    chat(tracer, {}, (span) => attachInteraction(span, { prompt: long, answer: long }));
  const [span] = await assertSame(make, {}, limits);
  assert.ok((span?.droppedAttributesCount ?? 0) > 0);
  await assertSame(make, { redactContent: true }, limits);
});

test('content is on the spans as it was said, in either pipeline', async () => {
  const messages: Message[] = [{ role: 'user', parts: [{ type: 'text', content: 'one' }] }];
  const toolArguments = { list: [1] };
  const spans = await assertSame(
    (tracer) => {
      const span = tracer.startSpan('chat', { kind: 2, attributes: CHAT_ATTRIBUTES });
      answer(span, messages);
      span.end();
      const tool = tracer.startSpan('tool', { attributes: { 'gen_ai.operation.name': 'execute_tool' } });
      attachInteraction(tool, { toolArguments, toolResult: { ok: true } });
      tool.end();
      toolArguments.list.push(2);
      toolArguments.list.length = 1;
    },
    { captureContent: true },
  );
  const [model, tool] = spans.map(({ attributes }) => attributes);
  assert.match(String(model?.['gen_ai.input.messages']), /one/);
  assert.equal(tool?.['gen_ai.tool.call.arguments'], '{"list":[1]}');
  assert.equal(tool?.['gen_ai.tool.call.result'], '{"ok":true}');
});

/** What a model call leaves to be written later. */
function callLater(write: (span: Span) => void, characters = 0) {
  return (tracer: Tracer) => {
    const span = tracer.startSpan('chat', { kind: 2, attributes: CHAT_ATTRIBUTES });
    const isLate = takesLateWork(span);
    if (isLate) leaveLateWork(span, { characters, write: () => write(span) });
    else write(span);
    span.end();
  };
}

test('what an instrumentation leaves for later is on the span as if it had been written before its end', async () => {
  const say = callLater((span) => {
    span.setAttributes({ 'gen_ai.response.model': 'gpt-4o-2024-08-06' });
    span.setStatus({ code: SpanStatusCode.ERROR, message: '200 overloaded' });
    answer(span, [{ role: 'user', parts: [{ type: 'text', content: 'Was invoice 92311 paid?' }] }]);
  });
  const [span] = await assertSame(say, { captureContent: true });
  assert.equal(span?.attributes['gen_ai.response.model'], 'gpt-4o-2024-08-06');
  assert.equal(typeof span?.attributes['observatory.prompt_hash'], 'string');
  assert.equal(span?.status.code, SpanStatusCode.ERROR);
});

test('texts that are left for later are bounded, in a burst without an await', () => {
  const memory = new InMemorySpanExporter();
  const enricher = new Enricher();
  const deferred = new DeferredEnrichment(enricher, [new SimpleSpanProcessor(memory)]);
  const tracer = new BasicTracerProvider({ spanProcessors: [deferred] }).getTracer('test');
  let written = 0;
  for (let i = 0; i < 40; i += 1) callLater(() => (written += 1), 2_000_000)(tracer);
  assert.equal(written, 7);
  deferred.settleNow();
  assert.equal(written, 40);
  assert.equal(memory.getFinishedSpans().length, 40);
});

test('what an application changes after its call does not reach the fields', async () => {
  const messages: Message[] = [{ role: 'user', parts: [{ type: 'text', content: 'one' }] }];
  const toolArguments = { list: [1] };
  const make = (after: () => void) => (tracer: Tracer) => {
    const span = tracer.startSpan('chat', { kind: 2, attributes: CHAT_ATTRIBUTES });
    answer(span, messages);
    span.end();
    const tool = tracer.startSpan('tool', { attributes: { 'gen_ai.operation.name': 'execute_tool' } });
    attachInteraction(tool, { toolArguments });
    tool.end();
    after();
  };
  const options = { contextTax: false };
  const before = await exported(
    'deferred',
    make(() => {}),
    options,
  );
  const changed = await exported(
    'deferred',
    make(() => {
      messages.push({ role: 'user', parts: [{ type: 'text', content: 'two' }] });
      toolArguments.list.push(2);
    }),
    options,
  );
  assert.deepEqual(told(changed.spans), told(before.spans));
});

test('nothing is enriched while a span ends, and everything once a burst without an await is long', () => {
  const memory = new InMemorySpanExporter();
  const enricher = new Enricher();
  const deferred = new DeferredEnrichment(enricher, [new SimpleSpanProcessor(memory)]);
  const tracer = new BasicTracerProvider({ spanProcessors: [deferred] }).getTracer('test');
  for (let i = 0; i < 8_192; i += 1) chat(tracer);
  assert.equal(enricher.stats.enriched, 0);
  for (let i = 0; i < 100; i += 1) chat(tracer);
  assert.equal(enricher.stats.enriched, 100);
  // Forty prompts of two million characters are more than may wait.
  const prompt = 'word '.repeat(400_000);
  for (let i = 0; i < 40; i += 1) {
    const span = tracer.startSpan('chat', { kind: 2, attributes: CHAT_ATTRIBUTES });
    attachInteraction(span, { prompt });
    span.end();
  }
  assert.equal(enricher.stats.enriched, 8_299);
  deferred.settleNow();
  assert.equal(memory.getFinishedSpans().length, 8_332);
});

test('large texts are enriched the same, and tell which share was scored', async () => {
  const prompt = 'Please pay invoice 92311 today. '.repeat(50_000);
  const answer = 'Paid, as asked. '.repeat(150_000);
  const [span] = await assertSame((tracer) =>
    chat(tracer, {}, (one) => attachInteraction(one, { prompt, answer, retrievedContext: prompt })),
  );
  const share = span?.attributes['observatory.scores_sampled'] as number;
  assert.ok(share > 0.2 && share < 0.25, `${share}`);
  assert.equal(span?.attributes['observatory.prompt_size_chars'], prompt.length);
});

test('a span that somebody has frozen is handed on, and holds up none after it', async () => {
  const memory = new InMemorySpanExporter();
  const freezer: SpanProcessor = { ...READER, onEnd: (span) => void Object.freeze(span) };
  const deferred = new DeferredEnrichment(new Enricher(), [new SimpleSpanProcessor(memory)]);
  const tracer = new BasicTracerProvider({ spanProcessors: [deferred, freezer] }).getTracer('test');
  for (let i = 0; i < 3; i += 1) {
    chat(tracer, {}, (span) => {
      if (!takesLateWork(span)) return;
      leaveLateWork(span, { characters: 0, write: () => void span.setAttribute('late', i) });
    });
  }
  await deferred.forceFlush();
  assert.equal(memory.getFinishedSpans().length, 3);
});

const messages = (role: string, content: string) =>
  JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);

test('long messages on the span of another instrumentation are enriched the same', async () => {
  const question = 'Please pay invoice 92311 of "ACME" today.\n'.repeat(20_000);
  const [span] = await assertSame((tracer) => {
    const one = tracer.startSpan('chat', { kind: 2, attributes: CHAT_ATTRIBUTES });
    one.setAttribute('gen_ai.input.messages', messages('user', question));
    one.setAttribute('gen_ai.output.messages', messages('assistant', 'Paid. '.repeat(60_000)));
    one.end();
  });
  assert.equal(span?.attributes['observatory.prompt_size_chars'], question.length);
  assert.equal(span?.attributes['gen_ai.input.messages'], messages('user', question));
});

/** Messages that would hold the event loop while they are read. */
const UNREADABLE = {
  'four million characters': messages('user', 'word '.repeat(900_000)),
  'a hundred thousand messages': `[${Array.from({ length: 100_000 }, () => '{"role":"user","content":"ab"}').join()}]`,
};

for (const [what, text] of Object.entries(UNREADABLE)) {
  for (const name of ['gen_ai.input.messages', 'gen_ai.prompt', 'input.value']) {
    test(`more than ${what} in ${name} stay where they are and are not read`, async () => {
      const [span] = await assertSame((tracer) => {
        tracer.startSpan('chat', { kind: 2, attributes: { ...CHAT_ATTRIBUTES, [name]: text } }).end();
      });
      assert.equal(span?.attributes['observatory.prompt_hash'], undefined);
      assert.equal(
        span?.attributes['observatory.model'] ?? span?.attributes['gen_ai.request.model'],
        'gpt-4o',
      );
      assert.equal(span?.attributes[name], text);
    });
  }
}

test('a text that takes long to hash is sampled where a caller waits, and the span says so', async () => {
  const prompt = 'Please pay invoice 92311 today. '.repeat(300_000);
  const ended = (pipeline: Pipeline, text: string) =>
    exported(pipeline, (tracer) => chat(tracer, {}, (one) => attachInteraction(one, { prompt: text })));
  const of = async (pipeline: Pipeline, text: string) =>
    (await ended(pipeline, text)).spans[0]?.attributes ?? {};
  const waited = await of('as it ends', prompt);
  const share = waited['observatory.hashes_sampled'] as number;
  assert.ok(share > 0.05 && share < 0.06, `${share}`);
  assert.equal(waited['observatory.prompt_size_chars'], prompt.length);
  const hash = waited['observatory.prompt_hash'];
  assert.equal((await of('as it ends', prompt))['observatory.prompt_hash'], hash);
  assert.notEqual((await of('as it ends', `${prompt}.`))['observatory.prompt_hash'], hash);
  const later = await of('deferred', prompt);
  assert.equal(later['observatory.hashes_sampled'], undefined);
  assert.notEqual(later['observatory.prompt_hash'], hash);
});
