import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import {
  createProvider,
  type Provider,
  ProviderError,
  textOf,
  toolCallsOf,
} from '../src/orchestrator/providers/index.ts';
import { said } from './support/recorded-answer.ts';
import { canonical, type NeutralRequest, NotPlain, toNeutral } from './support/recorded-request.ts';
import { hasCassettes, type Json, type Recording, recordings } from './support/recordings.ts';

const skip = hasCassettes ? false : 'no recordings beside the repository';
let server: Server;
let current: Recording;
let received: Json;

before(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    received = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json;
    const { status, body, sse } = current.response;
    response.writeHead(status, {
      'content-type': sse === undefined ? 'application/json' : 'text/event-stream',
    });
    response.end(sse ?? JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

after(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

async function providerFor(recording: Recording): Promise<Provider> {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return await createProvider(recording.api, {
    apiKey: 'test-key',
    baseUrl: recording.api === 'openai' ? `${origin}/v1` : origin,
    retry: { maxAttempts: 1 },
  });
}

async function ask(recording: Recording, neutral: NeutralRequest) {
  current = recording;
  const provider = await providerFor(recording);
  const stream = recording.response.sse !== undefined;
  return await provider.createCompletion(neutral.messages, neutral.tools, {
    ...neutral.options,
    model: recording.model,
    stream,
  });
}

const EMPTY: NeutralRequest = {
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
  tools: [],
  options: {},
};

test('every recorded answer reads as the content, calls and usage it holds', { skip }, async (t) => {
  let count = 0;
  for (const recording of recordings(['openai', 'anthropic', 'gemini'])) {
    if (recording.response.status !== 200) continue;
    const completion = await ask(recording, EMPTY);
    const expected = said(recording);
    assert.equal(textOf(completion.message.parts), expected.text, recording.id);
    const calls = toolCallsOf(completion.message).map((call) => ({
      id: call.idAssigned === true ? undefined : call.id,
      name: call.name,
      arguments: call.arguments,
    }));
    assert.deepEqual(calls, expected.calls, recording.id);
    const { inputTokens, outputTokens, cacheReadTokens, reasoningTokens } = completion.usage ?? {};
    assert.deepEqual(
      [inputTokens, outputTokens, cacheReadTokens, reasoningTokens],
      padded(expected.usage),
      recording.id,
    );
    assert.notEqual(completion.finishReason, 'other', recording.id);
    if (calls.length > 0) assert.equal(completion.finishReason, 'tool_calls', recording.id);
    count += 1;
  }
  assert.ok(count > 0);
  t.diagnostic(`${count} answers`);
});

function padded(usage: (number | undefined)[]): (number | undefined)[] {
  return Array.from({ length: 4 }, (_, index) => usage[index]);
}

test('every recorded error is a typed error with its status, and retryable only where waiting helps', {
  skip,
}, async (t) => {
  let count = 0;
  for (const recording of recordings(['openai', 'anthropic', 'gemini', 'errors'])) {
    const { status } = recording.response;
    if (status < 400) continue;
    const error = await ask(recording, EMPTY).then(
      () => assert.fail(`${recording.id} did not throw`),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof ProviderError, `${recording.id}: ${String(error)}`);
    assert.equal(error.status, status, recording.id);
    const retryable = status === 429 || status >= 500;
    assert.equal(
      error.retryable,
      retryable && error.type !== 'insufficient_quota',
      `${recording.id} ${error.message}`,
    );
    count += 1;
  }
  assert.ok(count > 0);
  t.diagnostic(`${count} errors`);
});

test('requests built from the recorded conversations equal the recorded ones in canonical form', {
  skip,
}, async (t) => {
  const left: string[] = [];
  let matched = 0;
  for (const recording of recordings(['openai', 'anthropic', 'gemini'])) {
    // What the API refused is no model to follow.
    if (recording.response.status !== 200) continue;
    let neutral: NeutralRequest;
    try {
      neutral = toNeutral(recording.api, recording.request.body);
    } catch (error) {
      if (!(error instanceof NotPlain)) throw error;
      left.push(`${recording.id}: ${error.message}`);
      continue;
    }
    await ask(recording, neutral);
    assert.deepEqual(
      canonical(recording.api, received),
      canonical(recording.api, recording.request.body),
      recording.id,
    );
    matched += 1;
  }
  assert.ok(matched > 0);
  t.diagnostic(`${matched} equal, ${left.length} are not plain tool calling: ${left.join('; ')}`);
});
