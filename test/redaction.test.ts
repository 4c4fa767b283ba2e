import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attributes, createTraceState, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { attachInteraction } from '../src/interaction/index.ts';
import { redactSpan } from '../src/processor/redact.ts';
import { captureDiag, chat, observe } from './support/observed.ts';
import { recordSpan } from './support/span-fixture.ts';

const SECRET = 'hunter2-secret';
const KEEP_NONE = { keep: new Set<string>(), redactNames: true };

/** Everything an exporter could write. */
function everythingIn(span: ReadableSpan): string {
  const { name, attributes, events, links, status, instrumentationScope } = span;
  const resource = span.resource?.attributes;
  const states = [span.spanContext?.(), ...links.map((link) => link.context)].map((context) =>
    context?.traceState?.serialize(),
  );
  return JSON.stringify({ name, attributes, events, links, status, instrumentationScope, resource, states });
}

/** Content attributes of every dialect, a secret in each. */
const CONTENT: Attributes = {
  'gen_ai.input.messages': `[{"role":"user","parts":[{"type":"text","content":"${SECRET}"}]}]`,
  'gen_ai.output.messages': `[{"role":"assistant","parts":[{"type":"text","content":"${SECRET}"}]}]`,
  'gen_ai.system_instructions': `[{"type":"text","content":"${SECRET}"}]`,
  'gen_ai.tool.call.arguments': `{"password":"${SECRET}"}`,
  'gen_ai.tool.call.result': SECRET,
  'gen_ai.prompt': SECRET,
  'gen_ai.completion': SECRET,
  'gen_ai.prompt.0.content': SECRET,
  'gen_ai.prompt.0.tool_calls.0.arguments': SECRET,
  'gen_ai.completion.0.content': SECRET,
  'gen_ai.prompt.variable.user': SECRET,
  'gen_ai.request.stop_sequences': [SECRET],
  'gen_ai.request.messages': SECRET,
  'gen_ai.response.text': SECRET,
  'gen_ai.a_name_of_tomorrow': SECRET,
  'gen_ai.retrieval.documents': `[{"content":"${SECRET}"}]`,
  'gen_ai.retrieval.query.text': SECRET,
  'llm.input_messages.0.message.content': SECRET,
  'llm.input_messages.0.message.contents.0.message_content.text': SECRET,
  'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments': SECRET,
  'llm.prompts.0.prompt.text': SECRET,
  'llm.invocation_parameters': `{"system":"${SECRET}"}`,
  'llm.prompt_template.variables': SECRET,
  'llm.tools.0.tool.json_schema': SECRET,
  'input.value': SECRET,
  'output.value': SECRET,
  'retrieval.documents.0.document.content': SECRET,
  'embedding.embeddings.0.embedding.text': SECRET,
  'embedding.vector': [0.25, 0.5],
  'tool.parameters': SECRET,
  'tool_call.function.arguments': SECRET,
  'traceloop.entity.input': SECRET,
  'traceloop.entity.output': SECRET,
  'ai.prompt': SECRET,
  'ai.prompt.messages': SECRET,
  'ai.response.text': SECRET,
  'ai.response.object': SECRET,
  'ai.response.toolCalls': SECRET,
  'ai.toolCall.args': SECRET,
  'ai.toolCall.result': SECRET,
  'ai.values': [SECRET],
  'ai.request.headers.authorization': SECRET,
  'mcp.request.argument.password': SECRET,
  'mcp.tool.result.content': SECRET,
  'anthropic.tool_result.content': SECRET,
  'langfuse.observation.input': SECRET,
  'langfuse.observation.output': SECRET,
  'genkit:input': SECRET,
  'lk.response.text': SECRET,
  'mlflow.spanInputs': SECRET,
  all_messages_events: SECRET,
  'error.message': SECRET,
  query: SECRET,
  response: SECRET,
  'langgraph.state': SECRET,
  'crewai.task.description': SECRET,
  'url.full': `https://bob:${SECRET}@example.com/?key=${SECRET}`,
  'http.request.header.authorization': [`Bearer ${SECRET}`],
  'db.statement': `SELECT '${SECRET}'`,
  'process.command_args': ['--password', SECRET],
  'mcp.resource.uri': `postgres://bob:${SECRET}@db/x?token=${SECRET}`,
  'app.card_number': 4111111111111111,
  'gen_ai.request.temperature': SECRET,
  'exception.message': SECRET,
};

const HARMLESS: Attributes = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-4o',
  'gen_ai.response.id': 'r1',
  'gen_ai.response.finish_reasons': ['stop'],
  'gen_ai.usage.input_tokens': 10,
  'gen_ai.usage.output_tokens': 5,
  'gen_ai.tool.name': 'login',
  'gen_ai.tool.call.id': 'c1',
  'gen_ai.prompt.name': 'template-3',
  'mcp.method.name': 'tools/call',
  'mcp.session.id': 's1',
  'llm.model_name': 'gpt-4o',
  'llm.token_count.prompt': 10,
  'openinference.span.kind': 'LLM',
  'input.mime_type': 'text/plain',
  'traceloop.workflow.name': 'w',
  'ai.operationId': 'ai.generateText.doGenerate',
  'server.address': 'api.openai.com',
  'error.type': 'RateLimitError',
};

test('no secret is left anywhere on a span, and what is harmless stays', () => {
  const { tracer, span, processor } = observe({
    options: { redactContent: true },
    limits: { attributeCountLimit: 1000 },
  });
  chat(tracer, { ...HARMLESS, ...CONTENT }, (s) => {
    for (const name of ['gen_ai.user.message', 'gen_ai.choice', 'gen_ai.content.prompt', 'log', 'progress']) {
      s.addEvent(name, {
        content: SECRET,
        message: SECRET,
        'gen_ai.prompt': SECRET,
        'gen_ai.event.content': SECRET,
        anything: SECRET,
        role: 'user',
        index: 0,
      });
    }
    s.recordException(new TypeError(SECRET));
    s.addLink({
      context: {
        traceId: '1'.repeat(32),
        spanId: '2'.repeat(16),
        traceFlags: 1,
        traceState: createTraceState(`ot=th:8,acme=${SECRET}`),
      },
      attributes: { 'gen_ai.prompt': SECRET, 'peer.service': 'kept' },
    });
    s.setStatus({ code: SpanStatusCode.ERROR, message: SECRET });
  });
  const exported = span();
  assert.ok(!everythingIn(exported).includes(SECRET), everythingIn(exported));
  for (const [name, value] of Object.entries(HARMLESS))
    assert.deepEqual(exported.attributes[name], value, name);
  for (const name of Object.keys(CONTENT)) assert.equal(exported.attributes[name], undefined, name);
  assert.equal(exported.status.code, SpanStatusCode.ERROR);
  assert.equal(exported.events[0]?.attributes?.role, 'user');
  const exception = exported.events.find((event) => event.name === 'exception');
  assert.deepEqual({ ...exception?.attributes }, { 'exception.type': 'TypeError' });
  assert.equal(exported.links[0]?.attributes?.['peer.service'], 'kept');
  assert.equal(exported.links[0]?.context.traceState?.serialize(), 'ot=th:8');
  assert.equal(processor.stats.attributesRedacted, Object.keys(CONTENT).length);
});

test('the text is hashed before it goes', () => {
  const { tracer, span } = observe({ options: { redactContent: true } });
  chat(tracer, { 'gen_ai.input.messages': CONTENT['gen_ai.input.messages'] as string });
  assert.match(String(span().attributes['observatory.prompt_hash']), /^[0-9a-f]{64}$/);
  assert.equal(span().attributes['gen_ai.input.messages'], undefined);
});

test('a text under a name that stays goes when it is longer than any id, so that redacting it takes no time', () => {
  const { tracer, span } = observe({ options: { redactContent: true } });
  const [longest, longer] = ['m'.repeat(8_192), 'm'.repeat(8_193)];
  chat(tracer, {
    'gen_ai.request.model': longest,
    'gen_ai.response.id': longer,
    'server.address': [longer] as never,
  });
  assert.equal(span().attributes['gen_ai.request.model'], longest);
  assert.equal(span().attributes['gen_ai.response.id'], '[redacted]');
  assert.deepEqual(span().attributes['server.address'], ['[redacted]']);
});

test('without redactContent nothing is taken away', () => {
  const { tracer, span } = observe({ limits: { attributeCountLimit: 1000 } });
  chat(tracer, CONTENT, (s) => s.setStatus({ code: SpanStatusCode.ERROR, message: SECRET }));
  for (const name of Object.keys(CONTENT)) assert.deepEqual(span().attributes[name], CONTENT[name], name);
  assert.equal(span().status.message, SECRET);
});

test('a fault while scoring does not stop the redaction', () => {
  const { tracer, span, processor } = observe({
    options: { redactContent: true },
    limits: { attributeCountLimit: 1000 },
  });
  const hostile = {
    get prompt(): string {
      throw new Error(SECRET);
    },
  };
  const lines = captureDiag(() => chat(tracer, CONTENT, (s) => attachInteraction(s, hostile)));
  assert.equal(processor.stats.faults, 1);
  assert.ok(!everythingIn(span()).includes(SECRET));
  assert.ok(!lines.join().includes(SECRET));
});

test('the second of two processors still redacts', () => {
  const first = observe().processor;
  const { tracer, span } = observe({ others: [first], options: { redactContent: true } });
  chat(tracer, CONTENT);
  assert.ok(!everythingIn(span()).includes(SECRET));
});

test('what lets nothing be deleted is replaced', () => {
  const plain = recordSpan({ attributes: HARMLESS });
  const frozen: ReadableSpan = {
    ...plain,
    name: 'chat',
    duration: plain.duration,
    attributes: Object.freeze({ ...HARMLESS, 'gen_ai.prompt': SECRET }),
    events: [
      {
        name: 'gen_ai.choice',
        time: [0, 0],
        attributes: Object.freeze({ content: SECRET, role: 'assistant' }),
      },
    ],
    status: Object.freeze({ code: SpanStatusCode.ERROR, message: SECRET }),
  } as ReadableSpan;
  redactSpan(frozen, KEEP_NONE);
  assert.ok(!everythingIn(frozen).includes(SECRET));
  assert.equal(frozen.attributes['gen_ai.request.model'], 'gpt-4o');
  const sealed = {
    ...plain,
    attributes: {},
    events: [],
    links: [],
    status: { code: 0 },
  } as unknown as ReadableSpan;
  Object.defineProperty(sealed.attributes, 'gen_ai.prompt', {
    value: SECRET,
    configurable: false,
    enumerable: true,
    writable: true,
  });
  redactSpan(sealed, KEEP_NONE);
  assert.equal(sealed.attributes['gen_ai.prompt'], '[redacted]');
});

test('content in the attributes of a scope goes like that of a span, also where the scope is frozen', () => {
  const attributes = { 'gen_ai.prompt': SECRET, team: 'payments' };
  for (const freeze of [<T>(value: T) => value, Object.freeze]) {
    const scope = freeze({ name: 'lib', version: '1', attributes: freeze({ ...attributes }) });
    const span = { ...recordSpan({}), name: 'chat', instrumentationScope: scope } as unknown as ReadableSpan;
    redactSpan(span, KEEP_NONE);
    assert.ok(!everythingIn(span).includes(SECRET));
    const { name, version } = span.instrumentationScope;
    assert.deepEqual([name, version], ['lib', '1']);
  }
});

test('names of spans and events keep the words that instrumentations use, and what attributes say', () => {
  const cases: readonly [name: string, attributes: Attributes, expected: string][] = [
    ['chat gpt-4o', {}, 'chat gpt-4o'],
    ['execute_tool login', { 'gen_ai.tool.name': 'login' }, 'execute_tool login'],
    ['tools/call login', { 'gen_ai.tool.name': 'login' }, 'tools/call login'],
    [`Answer what ${SECRET} means`, {}, 'chat gpt-4o'],
    [`chat ${SECRET} gpt-4o`, {}, 'chat [redacted] gpt-4o'],
    ['ai.generateText.doGenerate', {}, 'ai.generateText.doGenerate'],
  ];
  for (const [name, attributes, expected] of cases) {
    const { tracer, span } = observe({ options: { redactContent: true } });
    const started = tracer.startSpan(name, {
      attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o', ...attributes },
    });
    started.addEvent(`heard ${SECRET}`);
    started.addEvent('gen_ai.choice');
    started.end();
    assert.equal(span().name, expected);
    assert.deepEqual(
      span()
        .events.map((event) => event.name)
        .filter((event) => event !== 'gen_ai.evaluation.result'),
      ['[redacted]', 'gen_ai.choice'],
    );
  }
});

test('other spans and resources go by the list too, the trace state loses other vendors, and names can be added', () => {
  const resource = resourceFromAttributes({
    'service.name': 'shop',
    'process.command_args': ['node', SECRET],
    'app.tenant': 'acme',
  });
  const { tracer, span } = observe({
    options: { redactContent: true, keepAttributes: ['app.tenant'] },
    resource,
  });
  const parent = trace.setSpanContext(ROOT_CONTEXT, {
    traceId: '1'.repeat(32),
    spanId: '2'.repeat(16),
    traceFlags: 1,
    traceState: createTraceState(`acme=${SECRET}`),
  });
  const http = tracer.startSpan('GET /users/:id', {}, parent);
  http.setAttributes({
    'http.request.method': 'GET',
    'url.full': `https://example.com/?key=${SECRET}`,
    'error.type': `no such user ${SECRET}`,
    'peer.service': `see https://bob:${SECRET}@example.com`,
    'app.tenant': 'acme',
  });
  http.end();
  const exported = span();
  assert.deepEqual(
    { ...exported.attributes },
    {
      'http.request.method': 'GET',
      'error.type': '_OTHER',
      'peer.service': 'see https://[redacted: credential]@example.com',
      'app.tenant': 'acme',
    },
  );
  assert.equal(exported.name, 'GET /users/:id');
  assert.deepEqual(exported.resource.attributes, { 'service.name': 'shop', 'app.tenant': 'acme' });
  assert.equal(exported.spanContext().traceState, undefined);
  assert.equal(exported.spanContext().traceId, '1'.repeat(32));
  assert.equal(resource.attributes['app.tenant'], 'acme');
  assert.deepEqual(resource.attributes['process.command_args'], ['node', SECRET]);
});
