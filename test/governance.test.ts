import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { toColumns } from '../src/base/camel-case.ts';
import { FIELDS } from '../src/base/fields.ts';
import { Enricher, getGovernance, setGovernance } from '../src/processor/index.ts';
import { CHAT_ATTRIBUTES, captureDiag, observe } from './support/observed.ts';
import { spanToRow } from './support/span-row.ts';

test('fields of the context stand on spans started in it, from their start', () => {
  const { tracer, span } = observe();
  const governed = setGovernance(ROOT_CONTEXT, {
    riskTier: 'high',
    promptTemplateId: 'payment-risk-v3',
    confidence: 0.42,
    sessionId: 's1',
    conversationId: 'c1',
    isShadow: true,
    shadowParentTraceId: '11111111-1111-4111-8111-111111111111',
    gateBlocked: true,
    fallbackUsed: true,
    fallbackType: 'human_review',
    fallbackReason: 'low_confidence',
    retries: 1,
  });
  const chat = tracer.startSpan('chat', { attributes: CHAT_ATTRIBUTES }, governed);
  assert.equal(
    (chat as unknown as { attributes: object }).attributes['observatory.risk_tier' as never],
    'high',
  );
  chat.end();
  const { attributes } = span();
  const expected = {
    risk_tier: 'high',
    prompt_template_id: 'payment-risk-v3',
    confidence: 0.42,
    session_id: 's1',
    conversation_id: 'c1',
    is_shadow: true,
    shadow_parent_trace_id: '11111111-1111-4111-8111-111111111111',
    gate_blocked: true,
    fallback_used: true,
    fallback_type: 'human_review',
    fallback_reason: 'low_confidence',
    retries: 1,
  };
  for (const [column, value] of Object.entries(expected)) {
    assert.equal(attributes[`observatory.${column}`], value, column);
  }
});

test('inner contexts add to outer ones and replace what they name', () => {
  const outer = setGovernance(ROOT_CONTEXT, { riskTier: 'high', sessionId: 's1' });
  const inner = setGovernance(outer, { riskTier: 'low', confidence: 0.5, sessionId: undefined });
  assert.deepEqual(getGovernance(inner), { riskTier: 'low', sessionId: 's1', confidence: 0.5 });
  assert.deepEqual(getGovernance(outer), { riskTier: 'high', sessionId: 's1' });
  assert.equal(getGovernance(ROOT_CONTEXT), undefined);
});

test('a span that turns out to be GenAI only later gets them at its end, others never', () => {
  const { tracer, spans } = observe();
  const governed = setGovernance(ROOT_CONTEXT, { riskTier: 'high' });
  const late = tracer.startSpan('late', {}, governed);
  late.setAttributes(CHAT_ATTRIBUTES);
  late.end();
  tracer.startSpan('GET', { attributes: { 'http.request.method': 'GET' } }, governed).end();
  assert.equal(spans()[0]?.attributes['observatory.risk_tier'], 'high');
  assert.equal(spans()[1]?.attributes['observatory.risk_tier'], undefined);
});

/** A request by `ann`, a step in it, and its calls of a model, of a tool, and of a model for somebody else. */
function callInRequest(tracer: Tracer): void {
  const below = (span: Span) => trace.setSpan(ROOT_CONTEXT, span);
  const request = tracer.startSpan('GET /ask', { kind: SpanKind.SERVER });
  const step = tracer.startSpan('step', {}, below(request));
  const model = tracer.startSpan('chat', { attributes: CHAT_ATTRIBUTES }, below(step));
  request.setAttribute('enduser.id', 'ann');
  const tool = tracer.startSpan(
    'tools/call x',
    { attributes: { 'mcp.method.name': 'tools/call' } },
    below(step),
  );
  const attributes = { ...CHAT_ATTRIBUTES, 'user.id': 'bob' };
  const other = tracer.startSpan('other', { attributes }, below(step));
  for (const span of [model, tool, other, step, request]) span.end();
}
const userOf = (span: ReadableSpan) => spanToRow(span).user_id;
const USERS = ['ann', 'ann', 'bob', null, 'ann'];

test('calls of models and tools are those of the user that the request around them names', () => {
  for (const scope of ['test', 'mcp-observatory/mcp']) {
    const { tracer, spans } = observe({ scope });
    callInRequest(tracer);
    assert.deepEqual(spans().map(userOf), USERS);
  }
});

test('spans of another process too, in any order', () => {
  const memory = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor(memory)];
  callInRequest(new NodeTracerProvider({ spanProcessors }).getTracer('test'));
  const spans = memory.getFinishedSpans();
  const enricher = new Enricher({ meterProvider: false });
  for (const span of spans.toReversed()) enricher.expectReceived(span);
  for (const span of spans) enricher.enrichReceived(span);
  assert.deepEqual(spans.map(userOf), USERS);
});

test('a session and a user are read by how their names end, in printed metadata, and of the resource', () => {
  const idsOf = (attributes: Attributes, resource: Attributes = {}) => {
    const { tracer, span } = observe({ resource: resourceFromAttributes(resource) });
    tracer.startSpan('chat', { attributes: { ...CHAT_ATTRIBUTES, ...attributes } }, ROOT_CONTEXT).end();
    const { session_id: session, user_id: user } = spanToRow(span());
    return [session, user];
  };
  for (const [attributes, right] of [
    [{ 'gen_ai.session.id': 's', 'gen_ai.user.id': 7 }, ['s', '7']],
    [{ 'langfuse.trace.metadata.langfuse_session_id': 's', 'enduser.pseudo.id': 'u' }, ['s', 'u']],
    [{ 'mlflow.trace.session': 's', 'mlflow.trace.user': 'u' }, ['s', 'u']],
    [{ 'metadata.requester_metadata': "{'session_id': 's', 'user_id': 'u'}" }, ['s', 'u']],
    [{ metadata: '{"session_id":"s"}', user_id: 'None' }, ['s', null]],
    [{ 'metadata.user_api_key_user_id': 'k', 'metadata.user_api_key_end_user_id': 'u' }, [null, 'u']],
    [{ 'gen_ai.previous_session_id': 's', 'process.user.id': 0 }, [null, null]],
    [{ 'session.id': 'own', 'gen_ai.session.id': 's' }, ['own', null]],
  ] as const)
    assert.deepEqual(idsOf(attributes), right, JSON.stringify(attributes));
  assert.deepEqual(idsOf({ 'session.id': 'own' }, { 'session.id': 'r', 'enduser.id': 7 }), ['own', '7']);
});

test('an attribute set on the span itself is kept', () => {
  const { tracer, span } = observe();
  const governed = setGovernance(ROOT_CONTEXT, { riskTier: 'high' });
  const attributes = { ...CHAT_ATTRIBUTES, 'observatory.risk_tier': 'low' };
  tracer.startSpan('chat', { attributes }, governed).end();
  assert.equal(span().attributes['observatory.risk_tier'], 'low');
});

test('a value of the wrong type is left out, counted and named', () => {
  const { tracer, span, processor } = observe();
  const wrong = { riskTier: 7, confidence: 'high', retries: 1.5, isShadow: true, unknown: 'x' };
  const lines = captureDiag(() => {
    const governed = setGovernance(ROOT_CONTEXT, wrong as never);
    tracer.startSpan('chat', { attributes: CHAT_ATTRIBUTES }, governed).end();
  });
  assert.equal(span().attributes['observatory.is_shadow'], true);
  assert.equal(span().attributes['observatory.risk_tier'], undefined);
  assert.equal(span().attributes['observatory.confidence'], undefined);
  assert.equal(processor.stats.faults, 1);
  assert.match(lines.join(), /risk_tier, confidence, retries/);
});

test('a confidence or a fallback type out of its range is left out, counted and named', () => {
  const { tracer, span, processor } = observe();
  const wrong = { confidence: 7, fallbackType: 'nonsense', fallbackReason: 'tool_error', riskTier: 'low' };
  const lines = captureDiag(() => {
    tracer
      .startSpan('chat', { attributes: CHAT_ATTRIBUTES }, setGovernance(ROOT_CONTEXT, wrong as never))
      .end();
  });
  assert.equal(span().attributes['observatory.risk_tier'], 'low');
  assert.equal(span().attributes['observatory.confidence'], undefined);
  // A fallback has both halves in any case.
  assert.equal(span().attributes['observatory.fallback_type'], 'unspecified');
  assert.equal(span().attributes['observatory.fallback_reason'], 'tool_error');
  assert.equal(processor.stats.faults, 1);
  assert.match(lines.join(), /confidence, fallback_type/);
});

test('the active context serves where the parent context carries none', () => {
  new NodeTracerProvider().register();
  try {
    const { tracer, span } = observe();
    context.with(setGovernance(context.active(), { riskTier: 'high' }), () => {
      tracer.startSpan('chat', { attributes: CHAT_ATTRIBUTES }, ROOT_CONTEXT).end();
    });
    assert.equal(span().attributes['observatory.risk_tier'], 'high');
  } finally {
    for (const api of [context, propagation, trace]) api.disable();
  }
});

test('every column that is an attribute has one camelCase name', () => {
  const camel = (column: string) =>
    column
      .split('_')
      .map((word, i) => (i === 0 ? word : word[0]?.toUpperCase() + word.slice(1)))
      .join('');
  for (const field of FIELDS.filter((f) => f.origin === 'attribute')) {
    assert.deepEqual(toColumns({ [camel(field.column)]: 1 } as never), { [field.column]: 1 });
  }
  assert.deepEqual(toColumns({ prompt_hash: 'x', constructor: 'y' } as never), {});
});
