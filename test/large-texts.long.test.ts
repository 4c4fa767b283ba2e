import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { enrich } from '../src/processor/index.ts';
import { answerHash, computeSignals, normalizePrompt, resolveSignalConfig } from '../src/signals/index.ts';

const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex');
const config = resolveSignalConfig({ enableEvidence: false });

const PARTS = {
  English: 'The invoice 92311 of 2026-02-10 12:00:00 for 123e4567-e89b-42d3-a456-426614174000 is   PAID. \n',
  JSON: '{"id":"123e4567-e89b-42d3-a456-426614174000","n":[1.5,2],"at":"2026-02-10T12:00:00Z"},',
  Greek: 'ΟΔΥΣΣΕΥΣ και ΣΟΦΟΣ, 12.5 € yes so ΑΣ\u0301 Σ.Σ ',
  Cyrillic: 'Счёт 92311 от 2026-02-10 ОПЛАЧЕН полностью. ',
  'emoji and Chinese': '🙂發票 92311 已付款🙂🙂 ',
};

for (const [name, part] of Object.entries(PARTS)) {
  test(`a large text has the hashes of the whole: ${name}`, () => {
    const text = part.repeat(Math.ceil(2_400_000 / part.length));
    const { prompt_hash, normalized_prompt_hash, prompt_size_chars, answer_hash } = computeSignals(
      { prompt: text, answer: text },
      config,
    );
    assert.equal(prompt_hash, sha256(text));
    assert.equal(normalized_prompt_hash, sha256(normalizePrompt(text)));
    assert.equal(prompt_size_chars, [...text].length);
    assert.equal(answer_hash, answerHash(text));
  });
}

test('a large text without a place to cut keeps one hash', () => {
  const hashOf = (text: string) => computeSignals({ prompt: text }, config).normalized_prompt_hash;
  const digits = '1234567890'.repeat(200_000);
  assert.equal(hashOf(digits), hashOf(`${digits}`.slice()));
  assert.notEqual(hashOf(digits), hashOf(`${digits}x`));
});

test('scores of large texts read a sample of all of the text', () => {
  const left = 'alpha beta gamma delta. '.repeat(60_000);
  const right = 'one two three four. '.repeat(60_000);
  const score = (answer: string, retrievedContext: string) =>
    enrich({ answer, retrievedContext }, { config }).grounding_score;
  // The blocks of texts of different lengths cut other words.
  assert.ok((score(left + right, `${left + right} `) as number) > 0.7);
  assert.equal(score(left, right), 0);
  const half = score(left, left + right) as number;
  assert.ok(half > 0.4 && half < 0.6, `${half}`);
});
