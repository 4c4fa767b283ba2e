import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { attachInteraction, markEnriched } from '../src/interaction/index.ts';
import { canonicalHash } from '../src/json/index.ts';
import {
  Enricher,
  ObservatorySpanProcessor,
  type ObservatorySpanProcessorOptions,
} from '../src/processor/index.ts';
import { CHAT_ATTRIBUTES, captureDiag, chat, chatContent, observe } from './support/observed.ts';
import { recordSpan } from './support/span-fixture.ts';

const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex');

for (const exporter of ['before', 'after'] as const) {
  test(`an exporter registered ${exporter} the processor sees the fields`, () => {
    const { tracer, span, processor } = observe({ exporter });
    chat(tracer, {
      ...chatContent('What is 2 + 2?', 'It is 4.'),
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.output_tokens': 100,
    });
    const { attributes } = span();
    assert.equal(attributes['observatory.prompt_hash'], sha256('What is 2 + 2?'));
    assert.equal(attributes['observatory.answer_hash'], sha256('it is 4.'));
    assert.equal(attributes['observatory.prompt_size_chars'], 14);
    assert.equal(typeof attributes['observatory.hallucination_risk_score'], 'number');
    assert.equal(typeof attributes['observatory.cost_usd'], 'number');
    assert.equal(attributes['observatory.cost_source'], 'genai-prices');
    assert.deepEqual(processor.stats, {
      enriched: 1,
      faults: 0,
      untemplated: 0,
      attributesDropped: 0,
      attributesRedacted: 0,
    });
  });
}

test('a failed call without an answer has its prompt hashed and nothing made up', () => {
  const { tracer, span } = observe();
  const [input] = Object.entries(chatContent('the question', ''));
  chat(tracer, Object.fromEntries([input as [string, string]]), (s) =>
    s.setStatus({ code: SpanStatusCode.ERROR }),
  );
  const { attributes } = span();
  assert.equal(attributes['observatory.prompt_hash'], sha256('the question'));
  for (const name of [
    'answer_hash',
    'verifier_score',
    'hallucination_risk_score',
    'prompt_tokens',
    'cost_usd',
  ]) {
    assert.equal(attributes[`observatory.${name}`], undefined, name);
  }
});

test('a tool span gets the hash of its arguments in canonical form', () => {
  const { tracer, spans } = observe();
  for (const args of ['{"b":1,"a":"x"}', ' { "a" : "x", "b": 1.0 }']) {
    tracer
      .startSpan('tools/call t', {
        attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.call.arguments': args },
      })
      .end();
  }
  const span = tracer.startSpan('tools/call t', { attributes: { 'mcp.method.name': 'tools/call' } });
  attachInteraction(span, { toolArguments: { a: 'x', b: 1 } });
  span.end();
  const expected = canonicalHash({ a: 'x', b: 1 });
  for (const exported of spans()) {
    assert.equal(exported.attributes['observatory.tool_args_hash'], expected);
    assert.equal(exported.attributes['observatory.cost_source'], undefined);
  }
});

test('text beside the span is scored and becomes no attribute', () => {
  const { tracer, span } = observe();
  chat(tracer, {}, (s) => {
    attachInteraction(s, { prompt: 'secret question' });
    attachInteraction(s, {
      answer: 'secret answer',
      retrievedContext: 'secret answer source',
      prompt: undefined,
    });
  });
  const { attributes } = span();
  assert.equal(attributes['observatory.prompt_hash'], sha256('secret question'));
  assert.equal(attributes['observatory.answer_hash'], sha256('secret answer'));
  assert.equal(typeof attributes['observatory.grounding_score'], 'number');
  assert.ok(!JSON.stringify(attributes).includes('secret'));
});

test('a span nobody marked as GenAI is enriched when text was attached to it', () => {
  const { tracer, span } = observe();
  const own = tracer.startSpan('my own');
  attachInteraction(own, { prompt: 'p', answer: 'a', model: 'gpt-4o' });
  own.end();
  assert.equal(span().attributes['observatory.prompt_hash'], sha256('p'));
  assert.equal(span().attributes['observatory.model'], 'gpt-4o');
});

test('other spans are left exactly as they are', () => {
  const { tracer, span, processor } = observe();
  const attributes = { 'http.request.method': 'POST', 'input.value': 'kept', 'my.prompt': 'kept' };
  const http = tracer.startSpan('POST', { attributes });
  http.addEvent('note', { text: 'kept' });
  http.setStatus({ code: SpanStatusCode.ERROR, message: 'kept' });
  http.end();
  assert.deepEqual({ ...span().attributes }, attributes);
  assert.deepEqual({ ...span().events[0]?.attributes }, { text: 'kept' });
  assert.equal(span().status.message, 'kept');
  assert.equal(processor.stats.enriched, 0);
});

test('a span that was enriched already is not enriched again', () => {
  const { tracer, span, processor } = observe();
  chat(tracer, chatContent('q', 'a'), (s) => {
    s.setAttribute('observatory.prompt_hash', 'mine');
    markEnriched(s);
  });
  assert.equal(span().attributes['observatory.prompt_hash'], 'mine');
  assert.equal(span().attributes['observatory.answer_hash'], undefined);
  assert.equal(processor.stats.enriched, 0);
});

test('of two processors only the first works', () => {
  const first = observe().processor;
  const { tracer, span, processor } = observe({ others: [first] });
  chat(tracer, chatContent('q', 'a'));
  assert.equal(first.stats.enriched, 1);
  assert.equal(processor.stats.enriched, 0);
  assert.equal(span().attributes['observatory.prompt_hash'], sha256('q'));
});

test('a span that is full by a limit of the program keeps its attributes, and has the fields beyond it', () => {
  const { tracer, span, processor } = observe({ limits: { attributeCountLimit: 40 } });
  const others = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`app.key${i}`, i]));
  chat(tracer, { ...chatContent('q', 'a'), ...others, 'app.last': true });
  const { attributes } = span();
  assert.equal(attributes['app.key0'], 0);
  assert.equal(attributes['app.last'], undefined);
  assert.equal(attributes['observatory.prompt_hash'], sha256('q'));
  for (const name of ['cost_usd', 'hallucination_risk_score', 'hallucination_risk_level'])
    assert.notEqual(attributes[`observatory.${name}`], undefined, name);
  assert.equal(processor.stats.attributesDropped, 0);
});

test('a limit of lengths cuts no hash, id or model of ours', () => {
  const { tracer, span } = observe({ limits: { attributeValueLengthLimit: 8 } });
  chat(tracer, {}, (made) =>
    attachInteraction(made, { prompt: 'q', answer: 'a', model: 'gpt-4o-2024-08-06' }),
  );
  const { attributes } = span();
  assert.equal(attributes['observatory.prompt_hash'], sha256('q'));
  assert.equal(attributes['observatory.answer_hash'], sha256('a'));
  assert.equal(attributes['observatory.model'], 'gpt-4o-2024-08-06');
});

test('spans of another kind keep the limit of the SDK', () => {
  for (const [kind, scope, kept] of [
    [SpanKind.SERVER, 'app', 128],
    [SpanKind.CLIENT, 'app', 128],
    [SpanKind.INTERNAL, '@opentelemetry/instrumentation-express', 128],
    [SpanKind.INTERNAL, 'app', 200],
  ] as const) {
    const exporter = new InMemorySpanExporter();
    const spanProcessors = [new ObservatorySpanProcessor(), new SimpleSpanProcessor(exporter)];
    const started = new NodeTracerProvider({ spanProcessors }).getTracer(scope).startSpan('s', { kind });
    for (let i = 0; i < 200; i += 1) started.setAttribute(`app.key${i}`, i);
    started.end();
    assert.equal(
      Object.keys(exporter.getFinishedSpans()[0]?.attributes ?? {}).length,
      kept,
      `${kind} ${scope}`,
    );
  }
});

for (const [messages, when] of [
  [40, 'last'],
  [64, 'first'],
  [64, 'last'],
  [300, 'last'],
] as const) {
  test(`a conversation of ${messages} messages, an attribute each, with its usage ${when}, has its fields`, () => {
    const { tracer, span } = observe();
    const long = tracer.startSpan('llm');
    const usage = { 'llm.token_count.prompt': 4000, 'llm.token_count.completion': 40 };
    long.setAttributes({
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'gpt-4o',
      'llm.provider': 'openai',
      ...(when === 'first' ? usage : {}),
    });
    for (let i = 0; i < messages; i += 1) {
      long.setAttribute(`llm.input_messages.${i}.message.role`, i % 2 === 0 ? 'user' : 'assistant');
      long.setAttribute(`llm.input_messages.${i}.message.content`, `text ${i}`);
    }
    long.setAttribute('llm.output_messages.0.message.role', 'assistant');
    long.setAttribute('llm.output_messages.0.message.content', 'answer');
    if (when === 'last') long.setAttributes(usage);
    long.end();
    const { attributes } = span();
    assert.equal(attributes['observatory.answer_hash'], sha256('answer'));
    assert.equal(Number(attributes['observatory.cost_usd']).toFixed(6), '0.010400');
    assert.notEqual(attributes['observatory.hallucination_risk_score'], undefined);
    assert.ok(Number(attributes['observatory.prompt_size_chars']) >= 6 * messages);
  });
}

test('every way to enrich a span scores it by its evidence, unless it is told to use the heuristic', () => {
  const content = chatContent('How many?', 'There are 12 open tickets.');
  const call = {
    retrievedContext: 'There are 7 open tickets.',
    steps: [{ tool: 'count', arguments: {}, result: 'There are 7 open tickets.' }],
  };
  const scoreOf = (options: ObservatorySpanProcessorOptions, way: 'ending' | 'received') => {
    const none = { onStart() {}, onEnd() {}, async forceFlush() {}, async shutdown() {} };
    const { tracer, span } = observe({ options, wrap: (own) => (way === 'ending' ? own : none) });
    chat(tracer, content, (one) => attachInteraction(one, call));
    if (way === 'received') new Enricher(options).enrichReceived(span());
    return span().attributes;
  };
  for (const way of ['ending', 'received'] as const) {
    const attributes = scoreOf({}, way);
    const risk = Number(attributes['observatory.evidence_risk_score']);
    assert.equal(attributes['observatory.verifier_score'], 1 - risk, way);
    const seeds = scoreOf({ signals: { verifier: 'heuristic' } }, way);
    assert.equal(seeds['observatory.verifier_score'], 1, way);
  }
});

test('redaction makes room on a full span for the fields', () => {
  const { tracer, span, processor } = observe({
    limits: { attributeCountLimit: 40 },
    options: { redactContent: true },
  });
  const content = Object.fromEntries(
    Array.from({ length: 37 }, (_, i) => [`llm.input_messages.${i}.message.content`, `text ${i}`]),
  );
  chat(tracer, content);
  assert.equal(typeof span().attributes['observatory.prompt_hash'], 'string');
  assert.equal(typeof span().attributes['observatory.normalized_prompt_hash'], 'string');
  assert.equal(processor.stats.attributesDropped, 0);
  assert.ok(Object.keys(span().attributes).length <= 40);
});

test('a verifier that throws costs its score, not the span, and is said once', () => {
  const secret = 'the-secret-prompt';
  const failing = {
    score(): never {
      throw new Error(`cannot verify ${secret}`);
    },
  };
  const { tracer, spans, processor } = observe({ options: { signals: { verifier: failing } } });
  const lines = captureDiag(() => {
    chat(tracer, chatContent(secret, 'a'));
    chat(tracer, chatContent(secret, 'b'));
    assert.equal(processor.stats.enriched, 2);
  });
  assert.equal(spans().length, 2);
  assert.equal(spans()[0]?.attributes['observatory.verifier_score'], undefined);
  assert.equal(spans()[0]?.attributes['observatory.answer_hash'], sha256('a'));
  assert.deepEqual(processor.stats, {
    enriched: 2,
    faults: 2,
    untemplated: 0,
    attributesDropped: 0,
    attributesRedacted: 0,
  });
  assert.equal(lines.length, 1);
  assert.ok(!lines.join().includes(secret), 'a log line never quotes content');
});

test('a fault anywhere inside leaves end() without an exception', () => {
  const { tracer, spans, processor } = observe();
  captureDiag(() => {
    chat(tracer, {}, (s) =>
      attachInteraction(s, {
        get prompt(): string {
          throw new Error('hostile getter');
        },
      }),
    );
  });
  assert.equal(spans().length, 1);
  assert.equal(processor.stats.faults, 1);
});

test('unsampled and non-recording spans cost nothing and hold nothing', () => {
  const { tracer, spans, processor } = observe({ sampler: new AlwaysOffSampler() });
  chat(tracer, chatContent('q', 'a'), (s) => attachInteraction(s, { prompt: 'p' }));
  assert.equal(spans().length, 0);
  assert.equal(processor.stats.enriched, 0);
  const none = trace.wrapSpanContext({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 0 });
  attachInteraction(none, { prompt: 'p' });
  processor.onEnding(none as never);
  assert.equal(processor.stats.enriched, 0);
});

test('a prompt of 5 MB, lone surrogates and NUL characters are hashed like any text', () => {
  const { tracer, spans, processor } = observe();
  const texts = ['é'.repeat(2_500_000), 'lone \ud800 surrogate', 'nul \0 character', ''];
  for (const prompt of texts) chat(tracer, {}, (s) => attachInteraction(s, { prompt, answer: prompt }));
  assert.equal(processor.stats.faults, 0);
  assert.deepEqual(
    spans().map((span) => span.attributes['observatory.prompt_hash']),
    texts.map(sha256),
  );
});

test('attributes of the wrong type change nothing', () => {
  const { tracer, span, processor } = observe();
  chat(tracer, {
    'gen_ai.provider.name': 7,
    'gen_ai.request.model': ['a', 'b'],
    'gen_ai.usage.input_tokens': 'many',
    'gen_ai.usage.output_tokens': -3,
    'gen_ai.input.messages': true,
    'gen_ai.output.messages': 5,
  });
  assert.equal(processor.stats.faults, 0);
  assert.equal(span().attributes['observatory.prompt_hash'], undefined);
  assert.equal(span().attributes['observatory.cost_usd'], undefined);
});

test('structured attributes of SDK 3 are scored and redacted like JSON text', () => {
  const processor = new ObservatorySpanProcessor({ redactContent: true });
  const attributes: Record<string, unknown> = {
    ...CHAT_ATTRIBUTES,
    'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: 'secret question' }] }],
    'gen_ai.output.messages': [{ role: 'assistant', parts: [{ type: 'text', content: 'secret answer' }] }],
    'gen_ai.tool.definitions': [{ name: 'secret tool', parameters: null }],
  };
  const span = {
    ...recordSpan({ attributes: CHAT_ATTRIBUTES }),
    attributes,
    setAttribute: (key: string, value: unknown) => {
      attributes[key] = value;
    },
  };
  processor.onEnding(span as never);
  assert.equal(attributes['observatory.prompt_hash'], sha256('secret question'));
  assert.equal(attributes['observatory.answer_hash'], sha256('secret answer'));
  assert.ok(!JSON.stringify(attributes).includes('secret'));
});

test('an SDK without onEnding is served in onEnd, and warned about once', () => {
  const { tracer, spans } = observe({
    wrap: (processor) => ({
      onStart: (span, parent) => processor.onStart(span, parent),
      onEnd: (span) => processor.onEnd(span),
      forceFlush: () => processor.forceFlush(),
      shutdown: () => processor.shutdown(),
    }),
    options: { redactContent: true },
  });
  const lines = captureDiag(() => {
    chat(tracer, chatContent('secret q', 'secret a'));
    chat(tracer, chatContent('secret q', 'secret a'));
  });
  assert.equal(lines.filter((line) => line.includes('onEnding')).length, 1);
  for (const span of spans()) {
    assert.equal(span.attributes['observatory.prompt_hash'], sha256('secret q'));
    assert.ok(!JSON.stringify(span.attributes).includes('secret'));
  }
});

test('forceFlush and shutdown resolve', async () => {
  const { processor } = observe();
  await processor.forceFlush();
  await processor.shutdown();
});
