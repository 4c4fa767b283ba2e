/** The model that the orchestrator and policy suites are run with. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { replayGhost } from './support/ghost.ts';
import { GoldenModel } from './support/golden-model.ts';
import { readTestGolden } from './support/test-golden.ts';

const NONE = { serverConfig: { mcpServers: {} } };
/** A golden of the suites: one request, one answer. */
const GOLDEN = 'limits/listener_throws';
let folder: string;
let update: string | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'golden-model-'));
  update = process.env.UPDATE_GOLDENS;
  delete process.env.UPDATE_GOLDENS;
});
afterEach(async () => {
  if (update === undefined) delete process.env.UPDATE_GOLDENS;
  else process.env.UPDATE_GOLDENS = update;
  await rm(folder, { recursive: true });
});

test('the answers are those of the file; the script is not asked', async () => {
  const never = () => assert.fail('the script was asked');
  const { result, model } = await replayGhost(GOLDEN, 'openai', never, NONE);
  assert.equal(result.finalResult, 'fine');
  assert.equal(model.requests.length, 1);
});

test('a request that the golden does not hold fails the run with the difference, whatever the orchestrator makes of it', async () => {
  await assert.rejects(replayGhost(GOLDEN, 'openai', [], { ...NONE, userPrompt: 'Do it twice.' }), {
    code: 'GOLDEN_MISMATCH',
    message: /request\.body\.messages\[1\].*"Do the task\.".*"Do it twice\."/,
  });
});

test('an answer that nobody asked for fails the run', async () => {
  const model = await GoldenModel.open(`${GOLDEN}.openai`, []);
  await assert.rejects(model.close(), { code: 'GOLDEN_MISMATCH', message: /provider_responses\[0\]/ });
});

test('what the real API refuses is refused before the golden is asked', async () => {
  const model = await GoldenModel.open(`${GOLDEN}.openai`, []);
  const body = JSON.stringify({ messages: [{ role: 'tool', tool_call_id: 'x', content: '' }] });
  const url = `${model.baseUrl('openai')}/chat/completions`;
  const response = await fetch(url, { method: 'POST', body });
  assert.equal(response.status, 400);
  assert.match(model.refused.join(), /must be a response to a preceding message/);
  await assert.rejects(model.close(), { code: 'GOLDEN_MISMATCH' });
});

test('UPDATE_GOLDENS makes the file of the script, and leaves one that says the same as it is', async () => {
  process.env.UPDATE_GOLDENS = folder;
  const file = join(folder, 'a/made.openai.json');
  const make = async (text: string) => {
    await replayGhost('a/made', 'openai', [{ status: 500, text: 'once' }, { text }], NONE);
    return await readFile(file, 'utf8');
  };
  const first = await make('fine');
  const golden = await readTestGolden('a/made.openai', folder);
  assert.deepEqual(
    [golden.source, golden.runner, golden.recorded_at, golden.input],
    ['scripted', 'other', null, { provider: 'openai', model: 'gpt-5.4-mini' }],
  );
  assert.deepEqual(
    golden.provider_responses.map(({ iteration, response, duration_ms: took }) => [
      iteration,
      response.status,
      took,
    ]),
    [
      [1, 500, 0],
      [1, 200, 0],
    ],
  );
  assert.equal(await make('fine'), first);
  assert.notEqual(await make('better'), first);
});
