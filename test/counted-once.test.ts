import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Attributes, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { Enricher, innermostFirst, ObservatorySpanProcessor } from '../src/processor/index.ts';
import {
  agent,
  aiSdk,
  chat,
  failed,
  make,
  model,
  OURS,
  openInference,
  own,
  type Part,
  plain,
  spansOf,
  tool,
  usage,
} from './support/call-parts.ts';
import { MetricReader } from './support/metric-reader.ts';
import { spanToRow } from './support/span-row.ts';
import { recordSpans } from './support/spans.ts';

interface Case {
  readonly run: Part;
  readonly tokens: number;
  readonly calls: number;
  /** The outer span says too little to be held for the call, were it to end before the calls in it begin. */
  readonly isEnclosed?: boolean;
}

const CASES: Readonly<Record<string, Case>> = {
  'a call by a word of one vendor': {
    run: own({ 'gen_ai.operation.name': 'acompletion', ...model, ...usage(100) }),
    tokens: 100,
    calls: 1,
  },
  'a call by the type of its request alone': {
    run: plain([own({ 'llm.request.type': 'aresponses', ...model, ...usage(100) })]),
    tokens: 100,
    calls: 1,
  },
  'a call by a word of one vendor around ours': {
    run: own({ 'gen_ai.operation.name': 'acompletion', 'gen_ai.response.id': 'a', ...model, ...usage(100) }, [
      chat(OURS, 100, 'a'),
    ]),
    tokens: 100,
    calls: 1,
  },
  'usage without a word or a model around two calls': {
    run: own(usage(300), [chat('other', 100), plain([chat('other', 200)])]),
    tokens: 300,
    calls: 2,
    isEnclosed: true,
  },
  'a model and usage without a word around an agent around two calls': {
    run: own({ ...model, ...usage(300) }, [agent(300, [chat('other', 100), chat('other', 200)])]),
    tokens: 300,
    calls: 2,
    isEnclosed: true,
  },
  'a chat whose usage is that of the two calls in it': {
    run: chat('framework', 300, 'run', [chat('other', 100, 'a'), chat('other', 200, 'b')]),
    tokens: 300,
    calls: 2,
    isEnclosed: true,
  },
  'a word of one vendor, with other usage than the two calls in it': {
    run: own({ 'gen_ai.operation.name': 'orchestrate', ...model, ...usage(500) }, [
      agent(300, [chat('other', 100, 'a'), chat('other', 200, 'b')]),
    ]),
    tokens: 300,
    calls: 2,
    isEnclosed: true,
  },
  'a run of our own with two calls': {
    run: agent(300, [chat(OURS, 100, 'a'), chat(OURS, 200, 'b')]),
    tokens: 300,
    calls: 2,
  },
  'ai.generateText around its steps': {
    run: aiSdk('ai.generateText', 300, [
      aiSdk('ai.generateText.doGenerate', 100),
      aiSdk('ai.generateText.doGenerate', 200),
    ]),
    tokens: 300,
    calls: 2,
  },
  'OpenInference around our span': {
    run: openInference('AGENT', 100, [openInference('LLM', 100, [plain([chat(OURS, 100, 'a')])])]),
    tokens: 100,
    calls: 1,
  },
  'our span around that of OpenLLMetry, below a chain': {
    run: openInference('CHAIN', 100, [
      chat(OURS, 100, 'a', [chat('@traceloop/instrumentation-openai', 100, 'a')]),
    ]),
    tokens: 100,
    calls: 1,
  },
  'three instrumentations of one call': {
    run: chat('langchain', 100, undefined, [openInference('LLM', 100, [chat(OURS, 100, 'a')])]),
    tokens: 100,
    calls: 1,
  },
  'two instrumentations side by side': {
    run: agent(100, [chat(OURS, 100, 'a'), chat('other', 100, 'a')]),
    tokens: 100,
    calls: 1,
  },
  'a call, and another in a tool below it': {
    run: chat(OURS, 100, undefined, [tool([agent(40, [chat(OURS, 40)])])]),
    tokens: 140,
    calls: 2,
  },
  'a guardrail that asks a model during a call': {
    run: chat(OURS, 100, 'a', [chat(OURS, 30, 'b')]),
    tokens: 130,
    calls: 2,
  },
  'embeddings during a call, both without response ids': {
    run: chat(OURS, 100, undefined, [
      {
        ...chat(OURS, 30),
        attributes: { ...chat(OURS, 30).attributes, 'gen_ai.operation.name': 'embeddings' },
      },
    ]),
    tokens: 130,
    calls: 2,
  },
  'calls of one client with the same response id, as of a double': {
    run: agent(300, [chat(OURS, 100, 'a'), chat(OURS, 100, 'a'), chat(OURS, 100, 'a')]),
    tokens: 300,
    calls: 3,
  },
};

const total = (values: readonly (number | null)[]): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

/** Of gpt-4o-mini: an input token, with a tenth of an output token. */
const PRICE_OF_TOKEN = 0.15e-6 + 0.06e-6;

function assertCounted(spans: readonly ReadableSpan[], tokens: number, calls: number): void {
  const rows = spans.map(spanToRow);
  assert.equal(total(rows.map((row) => row.prompt_tokens)), tokens);
  assert.equal(total(rows.map((row) => row.completion_tokens)), tokens / 10);
  assert.equal(total(rows.map((row) => row.cost_usd)).toFixed(9), (tokens * PRICE_OF_TOKEN).toFixed(9));
  assert.equal(rows.filter((row) => row.cost_source !== null).length, calls);
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  for (const row of rows) {
    const isCall = row.model !== null && row.counted_on === null;
    assert.equal(isCall, row.cost_source !== null, row.span_name);
    assert.ok(row.counted_on === null || row.counted_on === 'children' || ids.has(row.counted_on));
    const own = JSON.stringify(row.attributes);
    if (row.counted_on === null || own.includes('"output.value"')) continue;
    assert.match(own, /"(gen_ai\.usage\.input_tokens|llm\.token_count\.prompt|ai\.usage\.inputTokens)":/);
  }
}

describe('tokens and cost of a call are counted once', () => {
  for (const [name, { run, tokens, calls, isEnclosed }] of Object.entries(CASES)) {
    for (const isStreamed of isEnclosed ? [false] : [false, true]) {
      test(`in process${isStreamed ? ', the outer span ends first' : ''}: ${name}`, async () => {
        await using reader = new MetricReader();
        const processor = new ObservatorySpanProcessor({ meterProvider: reader.provider });
        assertCounted(spansOf(run, isStreamed, [processor]), tokens, calls);
        const costs = (await reader.points('observatory.cost')).map(({ value }) => value);
        assert.equal(total(costs).toFixed(9), (tokens * PRICE_OF_TOKEN).toFixed(9));
      });
    }

    test(`in the service, whatever the order of a batch: ${name}`, () => {
      for (const turn of [0, 1, 2, 3, 4, 5]) {
        const spans = spansOf(run, turn > 2);
        const order = spans.map(
          (_, at) => spans[(at * (turn % 2 === 0 ? 1 : -1) + turn + spans.length) % spans.length],
        );
        const enricher = new Enricher({ meterProvider: false });
        for (const span of order) enricher.expectReceived(span as ReadableSpan);
        for (const span of innermostFirst(order as ReadableSpan[])) enricher.enrichReceived(span);
        assertCounted(spans, tokens, calls);
      }
    });
  }

  test('in the service, a call whose cost only the outer of two spans of one instrumentation has', () => {
    const outer = { 'gen_ai.response.id': 'r', ...model, ...usage(100), 'gen_ai.usage.cost': 7 };
    for (const operation of ['completion', 'acompletion']) {
      const inner = own({ 'llm.openai.usage': '{"prompt_tokens":100,"completion_tokens":10}' });
      const run = own({ 'gen_ai.operation.name': operation, ...outer }, [inner, plain([chat('app', 30)])]);
      const spans = spansOf(run, false);
      const enricher = new Enricher({ meterProvider: false });
      for (const span of spans) enricher.expectReceived(span);
      for (const span of spans) enricher.enrichReceived(span);
      assert.deepEqual(
        spans.map(spanToRow).map(({ cost_usd: usd }) => usd),
        [null, 0.0000063, null, 7],
        operation,
      );
    }
  });

  test('in the service, in batches of one span: calls directly around each other', () => {
    for (const isReversed of [false, true]) {
      const { run, tokens, calls } = CASES[
        'our span around that of OpenLLMetry, below a chain'
      ] as (typeof CASES)[string];
      const spans = spansOf(run, isReversed);
      const enricher = new Enricher({ meterProvider: false });
      for (const span of spans) enricher.enrichReceived(span);
      assertCounted(spans, tokens, calls);
    }
  });

  const CONTRIB = '@opentelemetry/instrumentation-openai';
  const FAILURES: Readonly<Record<string, readonly [run: Part, failures: number]>> = {
    'ours in that of OpenTelemetry': [failed(CONTRIB, [failed(OURS)]), 1],
    'that of OpenTelemetry in ours, with the request between': [
      failed(OURS, [{ ...plain([failed(CONTRIB)]), fails: true }]),
      1,
    ],
    'three instrumentations': [failed('ai', [failed(CONTRIB, [failed(OURS)])]), 1],
    'two attempts': [failed('ai', [failed(OURS), failed(OURS)]), 2],
    'two calls beside each other': [plain([failed(CONTRIB), failed(OURS)]), 2],
    'calls of two models': [failed(CONTRIB, [failed(OURS, [], 'text-embedding-3-small')]), 2],
    'an agent in between': [
      failed(CONTRIB, [own({ 'gen_ai.operation.name': 'invoke_agent' }, [failed(OURS)])]),
      2,
    ],
    'an attempt that failed and one that did not': [failed('ai', [failed(OURS), chat(OURS, 100)]), 1],
  };
  for (const [name, [run, failures]] of Object.entries(FAILURES)) {
    test(`a call that failed, once: ${name}`, () => {
      const count = (spans: readonly ReadableSpan[]) =>
        spans
          .map(spanToRow)
          .filter((row) => row.operation === 'chat' && row.status_code === 'error' && row.counted_on === null)
          .length;
      const inProcess = [false, true].map((isStreamed) =>
        count(spansOf(run, isStreamed, [new ObservatorySpanProcessor()])),
      );
      const received = [false, true].map((isReversed) => {
        const spans = spansOf(run, isReversed);
        const enricher = new Enricher({ meterProvider: false });
        for (const span of spans) enricher.enrichReceived(span);
        return count(spans);
      });
      assert.deepEqual([...inProcess, ...received], Array(4).fill(failures));
    });
  }

  const stream = { ...openInference('LLM', 100, []) };
  const unread: Part = {
    ...stream,
    attributes: {
      'openinference.span.kind': 'LLM',
      'llm.model_name': 'gpt-4o-mini',
      'llm.provider': 'openai',
      'input.value': 'Say hello',
      'output.value': 'hello',
    },
  };

  for (const place of ['inside', 'in a trace of its own']) {
    test(`an instrumentation that does not read the usage of a stream, ${place}, ends before ours`, () => {
      const exporter = new InMemorySpanExporter();
      const spanProcessors = [new ObservatorySpanProcessor(), new SimpleSpanProcessor(exporter)];
      const provider = new NodeTracerProvider({ spanProcessors });
      const tracer = (scope: string) => provider.getTracer(scope);
      const { attributes, kind } = chat(OURS, 100);
      const {
        'gen_ai.usage.input_tokens': input,
        'gen_ai.usage.output_tokens': output,
        ...asked
      } = attributes;
      const startTime = new Date(Date.now() - 1000);
      const ours = tracer(OURS).startSpan('chat', { attributes: asked, startTime, ...(kind && { kind }) });
      const around = place === 'inside' ? trace.setSpan(ROOT_CONTEXT, ours) : ROOT_CONTEXT;
      const peer = () => tracer(unread.scope).startSpan('LLM', { attributes: unread.attributes }, around);
      peer().end();
      ours.setAttributes({
        'gen_ai.usage.input_tokens': input ?? 0,
        'gen_ai.usage.output_tokens': output ?? 0,
      });
      ours.end();
      assertCounted(exporter.getFinishedSpans(), 100, 1);
      // Of a call that began after ours had ended, what is known is the estimate.
      const later = new Date(Date.now() + 60_000);
      tracer(unread.scope)
        .startSpan('LLM', { attributes: unread.attributes, startTime: later })
        .end(new Date(later.getTime() + 1000));
      const [last] = exporter.getFinishedSpans().slice(-1).map(spanToRow);
      assert.deepEqual([last?.tokens_estimated, last?.counted_on], [true, null]);
    });
  }

  test('in the service, an estimate that arrives before the usage in the same batch', () => {
    const spans = spansOf(chat(OURS, 100, 'a', [unread]), false);
    const enricher = new Enricher({ meterProvider: false });
    for (const span of spans) enricher.expectReceived(span);
    for (const span of spans) enricher.enrichReceived(span);
    assertCounted(spans, 100, 1);
  });

  /** Makes the first span around the time of the others, and in a trace of its own. */
  function makeBeside(
    outer: Part,
    inner: Part,
    processors = [new ObservatorySpanProcessor()],
  ): readonly ReadableSpan[] {
    const exporter = new InMemorySpanExporter();
    const spanProcessors = [...processors, new SimpleSpanProcessor(exporter)];
    const provider = new NodeTracerProvider({ spanProcessors });
    const { attributes } = outer;
    // Each trace has a clock of its own, of milliseconds.
    const startTime = new Date(Date.now() - 1000);
    const span = provider.getTracer(outer.scope).startSpan('call', { attributes, startTime });
    make(inner, (scope) => provider.getTracer(scope), true, ROOT_CONTEXT);
    span.end(new Date(Date.now() + 1000));
    return exporter.getFinishedSpans();
  }

  test('an instrumentation that knows a call by the name of a deployment, in a trace of its own', () => {
    const ours = chat(OURS, 100, 'a');
    const asked = { ...ours.attributes, 'gen_ai.request.model': 'for-support' };
    const answered = { ...ours, attributes: { ...asked, 'gen_ai.response.model': 'gpt-4o-mini' } };
    const peer = { ...stream, attributes: { ...stream.attributes, 'llm.model_name': 'for-support' } };
    assertCounted(makeBeside(peer, answered), 100, 1);
  });

  test('three spans of a call in two traces, the innermost without usage', () => {
    const framework = { ...stream, scope: '@arizeai/openinference-instrumentation-langchain' };
    assertCounted(makeBeside(framework, chat(OURS, 100, 'a', [unread])), 100, 1);
  });

  test('in the service, what is around embeddings, in a trace of its own', () => {
    const embed = (operation: string, tokens: number): Part => ({
      scope: 'ai',
      attributes: {
        'ai.operationId': operation,
        'ai.model.id': 'text-embedding-3-small',
        'ai.usage.tokens': tokens,
      },
      parts: [],
    });
    const count = (inner: number, outer: number) => {
      const spans = makeBeside(embed('ai.embed', outer), embed('ai.embed.doEmbed', inner), []);
      const enricher = new Enricher({ meterProvider: false });
      for (const span of spans) enricher.enrichReceived(span);
      return spans.map(spanToRow).reduce((sum, row) => sum + (row.prompt_tokens ?? 0), 0);
    };
    assert.deepEqual([count(10, 10), count(10, 20)], [10, 30]);
  });

  test('calls in other traces whose local servers number their answers alike are each counted', () => {
    const exporter = new InMemorySpanExporter();
    const spanProcessors = [new ObservatorySpanProcessor(), new SimpleSpanProcessor(exporter)];
    const provider = new NodeTracerProvider({ spanProcessors });
    const start = Date.now() - 60_000;
    const record = (scope: string, tokens: number, from: number, changed: Attributes = {}): void => {
      const { kind, attributes } = chat(scope, tokens, 'chatcmpl-7');
      const described = { attributes: { ...attributes, ...changed }, ...(kind && { kind }) };
      const startTime = new Date(start + from * 1000);
      provider
        .getTracer(scope)
        .startSpan('call', { ...described, startTime })
        .end(new Date(start + (from + 1) * 1000));
    };
    record(OURS, 100, 0);
    record('peer', 100, 0.2);
    record('other', 200, 0.5, { 'gen_ai.request.model': 'llama3.2' });
    record('another', 300, 20);
    const counted = exporter.getFinishedSpans().map(spanToRow);
    assert.deepEqual(
      counted.filter(({ counted_on: on }) => on === null).map(({ prompt_tokens: tokens }) => tokens),
      [100, 200, 300],
    );
  });

  test('calls of two models, one in the other, are two calls', () => {
    const inner = chat(OURS, 30);
    const other = { ...inner, attributes: { ...inner.attributes, 'gen_ai.request.model': 'gpt-4o' } };
    const processor = new ObservatorySpanProcessor({ meterProvider: false });
    const rows = spansOf(chat(OURS, 100, undefined, [other]), false, [processor]).map(spanToRow);
    assert.deepEqual(
      rows.map((row) => [row.prompt_tokens, row.counted_on]),
      [
        [30, null],
        [100, null],
      ],
    );
  });

  for (const isOursFirst of [true, false]) {
    test(`a framework's instrumentation in a trace of its own, ending ${isOursFirst ? 'after' : 'before'} ours`, () => {
      const exporter = new InMemorySpanExporter();
      const spanProcessors = [new ObservatorySpanProcessor(), new SimpleSpanProcessor(exporter)];
      const provider = new NodeTracerProvider({ spanProcessors });
      const start = Date.now() - 60_000;
      /** From a second to another, with a tenth of it around that of the peer. */
      const record = ({ scope, attributes, kind }: Part, from: number, to: number): void => {
        const startTime = new Date(start + from * 1000);
        const span = provider
          .getTracer(scope)
          .startSpan('call', { attributes, startTime, ...(kind && { kind }) });
        span.end(new Date(start + to * 1000));
      };
      const peer = openInference('LLM', 100, []);
      const both = [() => record(chat(OURS, 100, 'a'), 1, 2), () => record(peer, 0.9, 2.1)];
      for (const one of isOursFirst ? both : both.reverse()) one();
      // Calls that only one of the two saw: at another time, at the same time beside one that has its twin, of other size.
      record(peer, 3, 4);
      record(peer, 1, 2);
      record(openInference('LLM', 50, []), 1, 2);
      assertCounted(exporter.getFinishedSpans(), 350, 4);
    });
  }

  test('a tool call that another instrumentation has in a trace of its own, one for one', () => {
    const exporter = new InMemorySpanExporter();
    const spanProcessors = [new ObservatorySpanProcessor(), new SimpleSpanProcessor(exporter)];
    const provider = new NodeTracerProvider({ spanProcessors });
    const begin = (scope: string, tool: string, attributes: Attributes, around = ROOT_CONTEXT) =>
      provider
        .getTracer(scope)
        .startSpan(scope, { attributes: { 'gen_ai.tool.name': tool, ...attributes } }, around);
    const operation = { 'gen_ai.operation.name': 'execute_tool' };
    const peer = (tool: string) => begin('peer', tool, { 'openinference.span.kind': 'TOOL' });
    const others = [peer('echo')];
    const ours = begin('mcp-observatory/frameworks', 'echo', operation);
    const inner = begin('mcp-observatory/mcp', 'echo', operation, trace.setSpan(ROOT_CONTEXT, ours));
    others.push(peer('echo'), peer('other'));
    for (const span of [inner, ...others, ours]) span.end();
    peer('echo').end();
    const counted = exporter.getFinishedSpans().map(spanToRow);
    assert.deepEqual(
      counted.filter(({ counted_on: on }) => on !== null).map(({ scope, counted_on: on }) => [scope, on]),
      [['peer', ours.spanContext().spanId]],
    );
  });

  test('what an application says that a tool costs is its own', () => {
    const attributes = { 'gen_ai.operation.name': 'execute_tool', 'observatory.cost_usd': 0.02 };
    const [span] = recordSpans((tracer) => tracer.startSpan('search', { attributes }).end());
    const row = spanToRow(span as ReadableSpan);
    assert.deepEqual([row.cost_usd, row.counted_on], [0.02, null]);
  });
});
