import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { brotliDecompressSync } from 'node:zlib';
import { Tiktoken, type TiktokenBPE } from 'js-tiktoken/lite';
import { estimateTokens } from '../src/signals/index.ts';
import { random } from './support/random.ts';
import { sized } from './support/size.ts';

const require = createRequire(import.meta.url);
const root = new URL('../../', import.meta.url);

/** Making the tokenizer of one takes a second. */
const ENCODINGS = sized(['o200k_base'], ['o200k_base', 'cl100k_base']);

const tokenizers = new Map<string, Tiktoken>();

/** The tokenizer to compare with, made once: that takes most of the time. */
function tokenizer(encoding: string): Tiktoken {
  const made =
    tokenizers.get(encoding) ?? new Tiktoken(require(`js-tiktoken/ranks/${encoding}`) as TiktokenBPE);
  tokenizers.set(encoding, made);
  return made;
}

const next = random(11);
const TEXTS = [
  '',
  ' ',
  'Hello, world!',
  "Don't I'LL we've SHE'D",
  '  two  spaces\n\n\tand a tab\r\n ',
  'naïve café 🙂👩‍👩‍👧 日本語テスト Привет мир العربية',
  '<|endoftext|> and <|im_start|>user<|im_end|> are text like any other',
  'x'.repeat(200),
  '0123456789'.repeat(20),
  '{"id": 42, "amount": 12.50, "created_at": "2026-02-10T12:01:00Z"}',
  'a \ufffd replacement',
  readFileSync(new URL('src/signals/estimate-tokens.ts', root), 'utf8'),
  Array.from({ length: 4000 }, () => String.fromCharCode(32 + next(95))).join(''),
];

for (const encoding of ENCODINGS) {
  test(`the vocabulary ${encoding} is that of js-tiktoken, token by token`, () => {
    const { pat_str, bpe_ranks } = require(`js-tiktoken/ranks/${encoding}`) as TiktokenBPE;
    const tokens = bpe_ranks
      .split('\n')
      .flatMap((line) => line.split(' ').slice(2))
      .map((token) => Buffer.from(token, 'base64'));
    const file = brotliDecompressSync(readFileSync(new URL(`vocabularies/${encoding}.br`, root)));
    const lengths = Buffer.from([...tokens.map(({ length }) => length), 0]);
    assert.ok(file.equals(Buffer.concat([Buffer.from(`${pat_str}\n`), lengths, ...tokens])));
  });
}

test('for the models of OpenAI the count is that of their tokenizer', () => {
  for (const [encoding, models] of [
    [
      'o200k_base',
      ['gpt-4o', 'gpt-4o-mini-2024-07-18', 'gpt-4.1', 'gpt-5', 'o3-mini', 'openai/o1', 'gpt-oss-120b'],
    ],
    [
      'cl100k_base',
      ['gpt-4', 'gpt-4-turbo-2024-04-09', 'gpt-3.5-turbo', 'gpt-35-turbo', 'text-embedding-3-small'],
    ],
  ] as const) {
    if (!ENCODINGS.includes(encoding)) continue;
    const reference = tokenizer(encoding);
    for (const text of TEXTS) {
      const expected = reference.encode(text, [], []).length;
      for (const model of models.slice(0, sized(2, models.length))) {
        assert.equal(estimateTokens(text, model), expected, `${model}: ${JSON.stringify(text.slice(0, 80))}`);
      }
    }
  }
});

test('gateways and fine-tuning in front of a name do not hide the model', () => {
  const text = 'supercalifragilistic '.repeat(20);
  const expected = estimateTokens(text, 'gpt-4o');
  assert.notEqual(expected, estimateTokens(text));
  for (const model of [
    'ft:gpt-4o:house::1',
    'openrouter/openai/gpt-4o',
    'GPT-4O',
    'us.openai.gpt-oss-20b-1:0',
  ]) {
    assert.equal(estimateTokens(text, model), expected, model);
  }
});

test('for every other model, and for none, it is a quarter of the characters', () => {
  for (const [text, expected] of [
    ['', 0],
    ['   ', 1],
    ['a', 1],
    ['abcd', 1],
    ['abcde', 2],
    ['  a \n\t b  ', 1],
    ['a\u2003\u3000b\u001cc', 2],
    ['🙂🙂🙂🙂🙂', 2],
    ['\ud800\ud800\ud800\ud800\udc00', 1],
    ['\udc00\udc00\udc00\udc00\udc00', 2],
  ] as const) {
    for (const model of [
      undefined,
      '',
      'claude-sonnet-4-5',
      'gemini-2.5-pro',
      'my-gpt-4o',
      'olmo',
      'o',
      'davinci',
    ]) {
      assert.equal(estimateTokens(text, model), expected, `${model}: ${JSON.stringify(text)}`);
    }
  }
});

test('a huge text is counted from samples, near what it has', () => {
  const sentence = () => `Invoice ${next(10_000)} of customer ${next(1000)} was paid — “thanks”, said Zoë.\n`;
  const text = Array.from({ length: 8000 }, sentence).join('');
  assert.ok(text.length > 400_000);
  const exact = tokenizer('o200k_base').encode(text).length;
  const estimate = estimateTokens(text, 'gpt-4o');
  assert.ok(Math.abs(estimate / exact - 1) < 0.01, `${estimate} is not near ${exact}`);
  assert.equal(estimate, estimateTokens(text, 'gpt-4o'));
});

test('a run of letters without end is cut, at a token for each cut', () => {
  const length = sized(800, 1500);
  const run = Array.from({ length }, () => String.fromCharCode(97 + next(26))).join('');
  const [encoding, model] = sized(['o200k_base', 'gpt-4o'], ['cl100k_base', 'gpt-4']);
  const exact = tokenizer(encoding).encode(run).length;
  const estimate = estimateTokens(run, model);
  assert.ok(estimate >= exact && estimate <= exact + length / 256 + 1, `${estimate} for ${exact}`);
});
