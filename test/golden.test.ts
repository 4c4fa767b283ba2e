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
  playback.player.assertFinished();
  const again = golden.provider_responses[0]?.request.body as never;
  await assert.rejects(openai.chat.completions.create(again), {
    status: 409,
    message: /every exchange is used/,
  });
});

test('playback refuses a request the golden does not hold, and names the field', async () => {
  const golden = await readGolden(INVOICE_REVIEW);
  await using playback = await playGolden(golden);
  const openai = new OpenAI({ apiKey: 'none', baseURL: playback.baseUrl, maxRetries: 0 });
  const first = golden.provider_responses[0]?.request
    .body as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
  await assert.rejects(
    openai.chat.completions.create({ ...first, model: 'other' }),
    /provider_responses\[0\]\.request\.body\.model: expected "gpt-4o", got "other"/,
  );
  assert.throws(() => playback.player.assertFinished(), { code: 'GOLDEN_MISMATCH' });
});

test('playback in order takes other wordings, and no other course', async () => {
  const golden = await readGolden(INVOICE_REVIEW);
  await using playback = await playGolden(golden, { inOrder: true });
  const openai = new OpenAI({ apiKey: 'none', baseURL: playback.baseUrl, maxRetries: 0 });
  const messages = [
    { role: 'system' as const, content: 'In other words.' },
    { role: 'user' as const, content: 'May it be paid?' },
  ];
  assert.ok(await openai.chat.completions.create({ model: 'gpt-4o', messages }));
  await assert.rejects(openai.chat.completions.create({ model: 'gpt-4o', messages }), {
    status: 409,
    message: /messages: expected 5, got 2/,
  });
});
