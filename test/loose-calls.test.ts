/** An application that calls the SDKs itself and opens no span: the calls of one conversation are one trace. */
// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import * as v1Protocol from '@modelcontextprotocol/sdk/shared/protocol.js';
import { context, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import type { OpenAI } from 'openai';
import { AnthropicInstrumentation } from '../src/instrumentation/anthropic/index.ts';
import { GoogleGenAIInstrumentation } from '../src/instrumentation/google-genai.ts';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { OpenAIInstrumentation } from '../src/instrumentation/openai.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { type Pair, v1 } from './support/mcp-sdks.ts';
import { duringFile } from './support/model-hooks.ts';
import { type ProviderReply, type ProviderRequest, ProviderServer } from './support/provider-server.ts';
import { spanToRow } from './support/span-row.ts';
import { Telemetry } from './support/telemetry.ts';
import { answerWithTool, INPUT_TOKENS } from './support/tool-provider.ts';

const telemetry = new Telemetry(new ObservatorySpanProcessor({ meterProvider: false }));
duringFile(new OpenAIInstrumentation());
duringFile(new AnthropicInstrumentation());
duringFile(new GoogleGenAIInstrumentation());
const mcp = new McpInstrumentation();
mcp.manuallyInstrument(v1Protocol);
const require = createRequire(import.meta.url);

let provider: ProviderServer;
let openai: OpenAI;
let pair: Pair;
before(async () => {
  provider = await ProviderServer.start(answerWithTool);
  const sdk = require('openai') as typeof import('openai');
  openai = new sdk.OpenAI({ apiKey: 'sk-test', baseURL: `${provider.url}/v1`, maxRetries: 0 });
  pair = await v1.connect({ echo: ({ text }) => ({ content: [{ type: 'text', text: String(text) }] }) });
  telemetry.reset();
});
afterEach(() => {
  telemetry.reset();
  provider.answer(answerWithTool);
});
after(async () => {
  await pair[Symbol.asyncDispose]();
  mcp.disable();
  await provider[Symbol.asyncDispose]();
  await telemetry.shutdown();
});

const PARAMETERS = { type: 'object', properties: { text: { type: 'string' } } };
const TOOLS = [{ type: 'function' as const, function: { name: 'srv__echo', parameters: PARAMETERS } }];
const RESPONSES_TOOLS = [{ type: 'function' as const, name: 'echo', parameters: PARAMETERS, strict: false }];

const echo = (args: string) => pair.call('echo', JSON.parse(args), {});
const model = 'gpt-4o';

/** A loop over Chat Completions, until the model asks for nothing. */
async function chatLoop(prompt: string, stop = 5): Promise<void> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }];
  for (let turn = 0; turn < stop; turn += 1) {
    const { choices } = await openai.chat.completions.create({ model, messages, tools: TOOLS });
    const { message } = choices[0] as OpenAI.ChatCompletion.Choice;
    messages.push(message);
    if (message.tool_calls === undefined) return;
    for (const call of message.tool_calls) {
      if (call.type !== 'function') continue;
      await echo(call.function.arguments);
      messages.push({ role: 'tool', tool_call_id: call.id, content: 'x' });
    }
  }
}

async function responsesLoop(isKept: boolean): Promise<void> {
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: `responses, kept: ${isKept}` }];
  const request = { model, tools: RESPONSES_TOOLS };
  const first = await openai.responses.create({ ...request, input });
  const results: OpenAI.Responses.ResponseInput = [];
  for (const item of first.output) {
    if (item.type !== 'function_call') continue;
    await echo(item.arguments);
    results.push(item, { type: 'function_call_output', call_id: item.call_id, output: 'x' });
  }
  if (isKept) {
    await openai.responses.create({ ...request, input: results.slice(1), previous_response_id: first.id });
  } else await openai.responses.create({ ...request, input: [...input, ...results] });
}

async function anthropicLoop(): Promise<void> {
  const { Anthropic } = require('@anthropic-ai/sdk') as typeof import('@anthropic-ai/sdk');
  const client = new Anthropic({ apiKey: 'sk-test', baseURL: provider.url, maxRetries: 0 });
  const tools = [{ name: 'echo', input_schema: { type: 'object' as const } }];
  const request = { model: 'claude-sonnet-4-5', max_tokens: 100, tools };
  const question = { role: 'user' as const, content: 'anthropic' };
  provider.answer((asked) => answerWithTool({ ...asked, path: '/v1/messages?' }));
  const { content } = await client.messages.create({ ...request, messages: [question] });
  const [use] = content;
  assert.equal(use?.type, 'tool_use');
  await echo(JSON.stringify(use.input));
  const result = { type: 'tool_result' as const, tool_use_id: use.id, content: 'x' };
  const messages = [
    question,
    { role: 'assistant' as const, content: [use] },
    { role: 'user' as const, content: [result] },
  ];
  await client.messages.create({ ...request, messages });
}

/** Of a provider whose tool calls have no ids. */
async function googleLoop(): Promise<void> {
  const { GoogleGenAI } = require('@google/genai') as typeof import('@google/genai');
  const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: provider.url } });
  const usageMetadata = { promptTokenCount: INPUT_TOKENS, candidatesTokenCount: 10, totalTokenCount: 110 };
  const answerWith = (part: object) =>
    provider.answer({
      body: {
        candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
        usageMetadata,
      },
    });
  const call = { functionCall: { name: 'echo', args: { text: 'x' } } };
  const question = { role: 'user', parts: [{ text: 'google' }] };
  answerWith(call);
  await client.models.generateContent({ model: 'gemini-2.5-flash', contents: [question] });
  await echo('{"text":"x"}');
  answerWith({ text: 'done' });
  const result = { functionResponse: { name: 'echo', response: { output: 'x' } } };
  const contents = [question, { role: 'model', parts: [call] }, { role: 'user', parts: [result] }];
  await client.models.generateContent({ model: 'gemini-2.5-flash', contents });
}

const traceOf = (span: ReadableSpan): string => span.spanContext().traceId;
const isChat = ({ attributes }: ReadableSpan): boolean =>
  /^(chat|generate_content)$/.test(String(attributes['gen_ai.operation.name']));
const shown = () => telemetry.spans.map((span) => `${traceOf(span).slice(0, 4)} ${span.name}`).join('\n');

/** The spans by trace, in the order of their first ends. */
function traces(): ReadableSpan[][] {
  const byTrace = new Map<string, ReadableSpan[]>();
  for (const span of telemetry.spans) {
    const spans = byTrace.get(traceOf(span)) ?? [];
    byTrace.set(traceOf(span), [...spans, span]);
  }
  return [...byTrace.values()];
}

/** One root, which is the first model call; the others and the tool calls are below it, linked to who asked for them. */
function assertOneRun(spans: readonly ReadableSpan[], calls = 2, tools = 1): void {
  const roots = spans.filter(({ parentSpanContext }) => parentSpanContext === undefined);
  assert.equal(roots.length, 1, shown());
  const root = roots[0] as ReadableSpan;
  assert.ok(isChat(root), shown());
  const models = spans.filter(isChat);
  assert.equal(models.length, calls, shown());
  const callers = spans.filter(({ name, kind }) => name === 'tools/call echo' && kind === 2);
  assert.equal(callers.length, tools, shown());
  for (const caller of callers) {
    assert.equal(caller.parentSpanContext?.spanId, root.spanContext().spanId);
    const asker = caller.links[0]?.context.spanId;
    assert.ok(
      models.some((span) => span.spanContext().spanId === asker),
      'linked',
    );
  }
  const counted = spans.map(spanToRow).reduce((sum, row) => sum + (row.prompt_tokens ?? 0), 0);
  assert.equal(counted, calls * INPUT_TOKENS, 'each call is counted once');
}

const LOOPS: Readonly<Record<string, () => Promise<void>>> = {
  'Chat Completions': () => chatLoop('chat'),
  'Responses with its history sent again': () => responsesLoop(false),
  'Responses with its history kept by the provider': () => responsesLoop(true),
  'Messages of Anthropic': anthropicLoop,
  'Gemini, whose calls have no ids': googleLoop,
};

for (const [name, loop] of Object.entries(LOOPS)) {
  test(`${name}: a conversation with a tool call in between is one trace`, async () => {
    await loop();
    await telemetry.until(4);
    const [run, ...others] = traces();
    assert.deepEqual(others, [], shown());
    assertOneRun(run ?? []);
  });
}

test('a conversation of many turns is one trace', async () => {
  provider.answer(counting(() => 'call', 3));
  await chatLoop('many turns');
  assert.equal(traces().length, 1, shown());
  assertOneRun(telemetry.spans, 4, 3);
});

test('conversations one after the other are traces of their own, also with equal texts and ids', async () => {
  await chatLoop('again');
  await chatLoop('again');
  const runs = traces();
  assert.equal(runs.length, 2, shown());
  for (const run of runs) assertOneRun(run);
});

test('conversations at once stay apart, also with the same prompt, tool and arguments', async () => {
  provider.answer(counting(randomUUID, 1));
  await Promise.all([chatLoop('at once'), chatLoop('at once'), chatLoop('at once')]);
  const runs = traces().filter((spans) => spans.some(isChat));
  assert.equal(runs.length, 3, shown());
  for (const run of runs) assert.equal(run.filter(isChat).length, 2);
  // Which of them made which call cannot be told where all could have: none is put where it may not belong.
  for (const span of telemetry.spans.filter(({ name }) => name === 'tools/call echo')) {
    const others =
      traces()
        .find((spans) => spans.includes(span))
        ?.filter(isChat) ?? [];
    for (const other of others) assert.ok(span.links.length > 0 || span.kind === 1, other.name);
  }
});

test('conversations at once whose ids are the same are not joined', async () => {
  const both = [chatLoop('same ids', 1), chatLoop('same ids', 1)];
  await Promise.all(both);
  telemetry.reset();
  const tool_calls = [
    { id: 'call_1', type: 'function' as const, function: { name: 'echo', arguments: '{}' } },
  ];
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'user', content: 'same ids' },
    { role: 'assistant', tool_calls },
    { role: 'tool', tool_call_id: 'call_1', content: 'x' },
  ];
  await openai.chat.completions.create({ model, messages });
  assert.equal(telemetry.only.parentSpanContext, undefined);
});

test('another conversation that names the ids of one under way is not joined to it', async () => {
  await chatLoop('the real one', 1);
  telemetry.reset();
  const tool_calls = [
    { id: 'call_1', type: 'function' as const, function: { name: 'echo', arguments: '{}' } },
  ];
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'user', content: 'a guess' },
    { role: 'assistant', tool_calls },
    { role: 'tool', tool_call_id: 'call_1', content: 'x' },
  ];
  await openai.chat.completions.create({ model, messages });
  await echo('{"text":"of nobody"}');
  assert.deepEqual(
    telemetry.spans.filter(({ kind }) => kind === 2).map(({ parentSpanContext }) => parentSpanContext),
    [undefined, undefined],
  );
});

test("calls inside a span of the application are that span's", async () => {
  const span = trace.getTracer('app').startSpan('work');
  await context.with(trace.setSpan(context.active(), span), () => chatLoop('inside'));
  span.end();
  assert.equal(traces().length, 1);
  const outer = telemetry.spans.filter(
    (inner) => inner.parentSpanContext?.spanId === span.spanContext().spanId,
  );
  assert.equal(outer.length, 3, shown());
});

/** A model that asks for the tool in the first turns of a conversation, under ids of its own. */
function counting(newId: () => string, turns: number): (request: ProviderRequest) => ProviderReply {
  let answers = 0;
  return (request) => {
    const { messages } = request.body as { messages: { role: string }[] };
    const results = messages.filter(({ role }) => role === 'tool').length;
    answers += 1;
    const reply = answerWithTool({
      ...request,
      body: { ...(request.body as object), ...(results < turns ? { messages: [] } : {}) },
    });
    const text = JSON.stringify(reply.body)
      .replace(/"id":"chat-\w+"/, `"id":"chat-${answers}"`)
      .replace('"call_1"', `"${newId()}-${results}"`);
    return { body: JSON.parse(text) };
  };
}
