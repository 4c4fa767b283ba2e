// Runs with the others that hook the model SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallableTool } from '@google/genai';
import { GoogleGenAIInstrumentation } from '../src/instrumentation/google-genai.ts';
import { duringTests } from './support/during-tests.ts';
import { duringFile } from './support/model-hooks.ts';
import { googleSdk } from './support/model-sdks.ts';
import { type ProviderServer, sse } from './support/provider-server.ts';
import { Telemetry } from './support/telemetry.ts';

const telemetry = new Telemetry();
duringFile(new GoogleGenAIInstrumentation());
const google = googleSdk();
let provider: ProviderServer;
duringTests(telemetry, (started) => {
  provider = started;
});

const ASK = { model: 'gemini-2.5-flash', contents: 'Weather?' };

function answer(part: object): object {
  return {
    modelVersion: 'm',
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
  };
}

test('the error type is the status in words of Google, in every form an error has', async () => {
  const error = { code: 429, message: 'secret', status: 'RESOURCE_EXHAUSTED' };
  for (const body of [{ error }, [{ error }]]) {
    provider.answer({ status: 429, body });
    await assert.rejects(google.client(provider.url).models.generateContent(ASK));
  }
  provider.answer({ events: sse([answer({ text: 'It' }), { error }]) });
  await assert.rejects(async () => {
    for await (const _ of await google.client(provider.url).models.generateContentStream(ASK));
  });
  assert.deepEqual(
    telemetry.spans.map(({ attributes, status }) => [attributes['error.type'], status.message]),
    Array.from({ length: 3 }, () => ['RESOURCE_EXHAUSTED', '429 RESOURCE_EXHAUSTED']),
  );
});

test('a refused prompt says why as its finish reason', async () => {
  provider.answer({
    body: { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 4 } },
  });
  await google.client(provider.url).models.generateContent(ASK);
  assert.deepEqual(telemetry.only.attributes['gen_ai.response.finish_reasons'], ['SAFETY']);
  assert.equal(telemetry.only.attributes['gen_ai.usage.input_tokens'], 4);
});

test('automatic function calling gives one span for each request it makes, plain and streamed', async () => {
  const tool: CallableTool = {
    tool: async () => ({ functionDeclarations: [{ name: 'weather' }] }),
    callTool: async () => [{ functionResponse: { name: 'weather', response: { output: 'sunny' } } }],
  };
  const { models } = google.client(provider.url);
  const config = { tools: [tool] };
  const answers = [answer({ functionCall: { name: 'weather', args: {} } }), answer({ text: 'Sunny.' })];
  let requests = 0;
  provider.answer(() => ({ body: answers[requests++] }));
  assert.equal((await models.generateContent({ ...ASK, config })).text, 'Sunny.');
  requests = 0;
  provider.answer(() => ({ events: sse([answers[requests++]]) }));
  for await (const _ of await models.generateContentStream({ ...ASK, config }));
  assert.deepEqual(
    telemetry.spans.map(({ attributes }) => attributes['observatory.tool_call_count']),
    [1, undefined, 1, undefined],
  );
});
