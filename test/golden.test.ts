import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { playGolden, readGolden } from '../src/golden/index.ts';

const INVOICE_REVIEW = new URL('../../goldens/openai/invoice_review.json', import.meta.url);

test('a golden written by hand says that it is scripted', async () => {
  const golden = await readGolden(INVOICE_REVIEW);
  assert.equal(golden.source, 'scripted');
  assert.equal(golden.recorded_at, null);
});

test('playback answers the official client as the golden says, each exchange once', async () => {
  const golden = await readGolden(INVOICE_REVIEW);
  await using playback = await playGolden(golden);
  const openai = new OpenAI({ apiKey: 'none', baseURL: playback.baseUrl, maxRetries: 0 });
  for (const exchange of golden.provider_responses) {
    const completion = await openai.chat.completions.create(exchange.request.body as never);
    assert.deepEqual(JSON.parse(JSON.stringify(completion)), exchange.response.body);
  }
  const again = golden.provider_responses[0]?.request.body as never;
  await assert.rejects(openai.chat.completions.create(again), { status: 409, message: /all are used/ });
});

test('playback refuses a request that is not the next one, and says what was expected', async () => {
  const golden = await readGolden(INVOICE_REVIEW);
  await using playback = await playGolden(golden);
  const openai = new OpenAI({ apiKey: 'none', baseURL: playback.baseUrl, maxRetries: 0 });
  const first = golden.provider_responses[0]?.request
    .body as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
  await assert.rejects(
    openai.chat.completions.create({ ...first, model: 'other' }),
    /the golden has 'gpt-4o'/,
  );
  await assert.rejects(openai.chat.completions.create({ ...first, messages: [] }), /the golden has 2/);
  assert.ok(await openai.chat.completions.create(first));
});
