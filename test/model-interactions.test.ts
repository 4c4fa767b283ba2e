/** Prompt, answer, evidence and failed tools reach the processor without user code and without span attributes. */
// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { AnthropicInstrumentation } from '../src/instrumentation/anthropic/index.ts';
import { GoogleGenAIInstrumentation } from '../src/instrumentation/google-genai.ts';
import { OpenAIInstrumentation } from '../src/instrumentation/openai.ts';
import { type Interaction, readInteractions, takeInteraction } from '../src/interaction/index.ts';
import { duringFile } from './support/model-hooks.ts';
import { anthropicSdk, googleSdk, openaiSdk } from './support/model-sdks.ts';
import { ProviderServer, sse } from './support/provider-server.ts';
import { Telemetry } from './support/telemetry.ts';

readInteractions();

const attached: Interaction[] = [];
const telemetry = new Telemetry({
  onStart() {},
  onEnding(span: object) {
    attached.push({ ...takeInteraction(span) });
  },
  onEnd() {},
  forceFlush: async () => {},
  shutdown: async () => {},
});
duringFile(new OpenAIInstrumentation());
duringFile(new AnthropicInstrumentation({ native: 'suppress' }));
duringFile(new GoogleGenAIInstrumentation());
const openai = openaiSdk();
const anthropic = anthropicSdk();
const google = googleSdk();
let provider: ProviderServer;

before(async () => {
  provider = await ProviderServer.start();
});
beforeEach(() => {
  attached.length = 0;
});
after(async () => {
  await provider[Symbol.asyncDispose]();
  await telemetry.shutdown();
});

/** The same conversation in each provider's form: a question, two tool calls of which one failed, an answer. */
const SAID = {
  prompt: 'Be brief.\n\nBook a table and tell me the weather.',
  retrievedContext: '22 degrees, sunny',
  toolResultSummary: 'error: fully booked',
  answer: 'It is 22 degrees. Your table is booked.',
};

test('openai chat completions', async () => {
  const message = { role: 'assistant', content: SAID.answer };
  provider.answer({ body: { id: 'x', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] } });
  await openai.client(provider.url).chat.completions.create({
    model: 'gpt-4o',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Book a table and tell me the weather.' }] },
      {
        role: 'assistant',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'weather', arguments: '{}' } },
          { id: 'b', type: 'function', function: { name: 'book', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: '22 degrees, sunny' },
      { role: 'tool', tool_call_id: 'b', content: '{"error":"fully booked"}' },
    ],
  });
  expectSaid('openai', 'm', '{"error":"fully booked"}');
});

test('a cost that a router reports, in whole answers and in streams', async () => {
  const usage = { prompt_tokens: 1, completion_tokens: 1, cost: 0.25 };
  provider.answer({ body: { id: 'x', model: 'm', choices: [], usage } });
  await openai.client(provider.url).chat.completions.create({ model: 'm', messages: [] });
  provider.answer({ events: sse([{ id: 'x', model: 'm', choices: [], usage }, '[DONE]']) });
  for await (const _ of await openai
    .client(provider.url)
    .chat.completions.create({ model: 'm', messages: [], stream: true }));
  assert.deepEqual(
    attached.map((said) => said.providerCostUsd),
    [0.25, 0.25],
  );
});

test('openai responses', async () => {
  const content = [{ type: 'output_text', text: SAID.answer }];
  provider.answer({
    body: {
      object: 'response',
      model: 'm',
      status: 'completed',
      output: [{ type: 'message', role: 'assistant', content }],
    },
  });
  await openai.client(provider.url).responses.create({
    model: 'gpt-4o',
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: 'Book a table and tell me the weather.' },
      { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{}' },
      { type: 'function_call', call_id: 'b', name: 'book', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: '22 degrees, sunny' },
      { type: 'function_call_output', call_id: 'b', output: 'Error: fully booked' },
    ],
  });
  expectSaid('openai', 'm', 'Error: fully booked');
});

test('anthropic messages', async () => {
  const message = { type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' };
  provider.answer({ body: { ...message, content: [{ type: 'text', text: SAID.answer }], usage: {} } });
  await anthropic.client(provider.url).messages.create({
    model: 'claude-sonnet-4-6',
    max_tokens: 99,
    system: 'Be brief.',
    messages: [
      { role: 'user', content: 'Book a table and tell me the weather.' },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'weather', input: {} },
          { type: 'tool_use', id: 'b', name: 'book', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: '22 degrees, sunny' },
          {
            type: 'tool_result',
            tool_use_id: 'b',
            is_error: true,
            content: [{ type: 'text', text: 'fully booked' }],
          },
        ],
      },
    ],
  });
  expectSaid('anthropic', 'm');
});

test('gemini generateContent', async () => {
  const content = { role: 'model', parts: [{ text: SAID.answer }] };
  provider.answer({ body: { modelVersion: 'm', candidates: [{ content, finishReason: 'STOP' }] } });
  await google.client(provider.url).models.generateContent({
    model: 'gemini-2.5-flash',
    config: { systemInstruction: 'Be brief.' },
    contents: [
      { role: 'user', parts: [{ text: 'Book a table and tell me the weather.' }] },
      {
        role: 'model',
        parts: [{ functionCall: { name: 'weather', args: {} } }, { functionCall: { name: 'book' } }],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'weather', response: { output: '22 degrees, sunny' } } },
          { functionResponse: { name: 'book', response: { error: 'fully booked' } } },
        ],
      },
    ],
  });
  expectSaid('gcp.gemini', 'm');
});

test('a streamed answer and its usage arrive whole', async () => {
  for (const sdk of [openai, anthropic, google]) {
    attached.length = 0;
    provider.answer({ events: sdk.events(['It ', 'is ', 'so.']) });
    for await (const _ of await sdk.stream(provider.url));
    assert.equal(attached[0]?.prompt, 'Tell me.', sdk.name);
    assert.equal(attached[0]?.answer, 'It is so.', sdk.name);
    assert.equal(attached[0]?.usage?.inputTokens, 100, sdk.name);
    assert.equal(attached[0]?.usage?.cacheReadTokens, 90, sdk.name);
  }
});

test('a spoken answer and one in parts, with the thinking before it, are the answer', async () => {
  const spoken = { role: 'assistant', content: null, audio: { id: 'a', data: '', transcript: SAID.answer } };
  const body = { id: 'x', model: 'm', choices: [{ index: 0, message: spoken, finish_reason: 'stop' }] };
  const ask = { model: 'gpt-4o', messages: [{ role: 'user' as const, content: 'Tell me.' }] };
  const { completions } = openai.client(provider.url).chat;
  provider.answer({ body });
  await completions.create({ ...ask, modalities: ['text', 'audio'] });
  assert.equal(telemetry.spans.at(-1)?.attributes['gen_ai.output.type'], 'speech');
  const piece = (delta: object) => ({ ...body, choices: [{ index: 0, delta }] });
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] };
  for (const events of [
    [
      piece({ audio: { transcript: 'It is 22 degrees. ' } }),
      piece({ audio: { transcript: 'Your table is booked.' } }),
    ],
    [piece({ content: [thinking] }), piece({ content: [{ type: 'text', text: SAID.answer }] })],
  ]) {
    provider.answer({ events: sse([...events, '[DONE]']) });
    for await (const _ of await completions.create({ ...ask, stream: true }));
  }
  assert.deepEqual(
    attached.map(({ answer }) => answer),
    [SAID.answer, SAID.answer, SAID.answer],
  );
});

test('a refusal that is left in mid-stream is the answer as far as it came', async () => {
  const delta = { type: 'response.refusal.delta', delta: 'I cannot' };
  provider.answer({ events: sse([delta, { ...delta, delta: ' do' }], true), pauseMs: 5 });
  const stream = await openai.client(provider.url).responses.create({ model: 'm', input: 'x', stream: true });
  for await (const _ of stream) break;
  assert.equal(attached[0]?.answer, 'I cannot');
});

test('nothing of what was said, called or sent is exported with content capture off', async () => {
  const said = JSON.stringify([
    telemetry.spans.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
    await telemetry.points(),
  ]);
  assert.ok(telemetry.spans.length >= 7);
  const secrets = [
    'Be brief',
    'Book a table',
    '22 degrees',
    'fully booked',
    'Your table',
    'It is so',
    'Tell me',
  ];
  for (const secret of [...secrets, 'sk-test', 'Bearer', 'x-goog-api-key']) {
    assert.equal(said.includes(secret), false, secret);
  }
});

function expectSaid(who: string, model: string, failure = 'fully booked'): void {
  const [said] = attached;
  assert.equal(said?.prompt, SAID.prompt);
  assert.equal(said?.retrievedContext, SAID.retrievedContext);
  assert.equal(
    said?.toolResultSummary?.includes(failure.replace(/^.*: ?"?|"?}$/g, '')),
    true,
    said?.toolResultSummary,
  );
  assert.equal(said?.answer, SAID.answer);
  assert.equal(said?.provider, who);
  assert.equal(said?.model, model);
}
