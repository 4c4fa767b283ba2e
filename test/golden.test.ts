import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
    const completion = await openai.chat.completions.create(exchange.request as never);
    assert.deepEqual(JSON.parse(JSON.stringify(completion)), exchange.response);
  }
  const again = golden.provider_responses[0]?.request as never;
  await assert.rejects(openai.chat.completions.create(again), { status: 409, message: /all are used/ });
});

test('playback refuses a request that is not the next one, and says what was expected', async () => {
  const golden = await readGolden(INVOICE_REVIEW);
  await using playback = await playGolden(golden);
  const openai = new OpenAI({ apiKey: 'none', baseURL: playback.baseUrl, maxRetries: 0 });
  const first = golden.provider_responses[0]
    ?.request as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
  await assert.rejects(
    openai.chat.completions.create({ ...first, model: 'other' }),
    /the golden has 'gpt-4o'/,
  );
  await assert.rejects(openai.chat.completions.create({ ...first, messages: [] }), /the golden has 2/);
  assert.ok(await openai.chat.completions.create(first));
});

test('a file that is no golden is refused with its name and the reason', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'golden-'));
  try {
    const cases: [string, RegExp][] = [
      ['{', /Cannot read the golden .*bad\.json/],
      ['[]', /not a JSON object/],
      ['{"test_name":"x"}', /'source' is neither/],
      [
        '{"test_name":"x","source":"scripted","input":{},"provider_responses":[{}]}',
        /provider_responses\[0\]/,
      ],
    ];
    for (const [text, message] of cases) {
      const file = join(folder, 'bad.json');
      await writeFile(file, text);
      await assert.rejects(readGolden(file), { code: 'INVALID_INPUT', message });
    }
    await assert.rejects(readGolden(join(folder, 'none.json')), { code: 'INVALID_INPUT' });
  } finally {
    await rm(folder, { recursive: true });
  }
});
