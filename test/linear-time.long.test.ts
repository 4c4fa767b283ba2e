import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scoreAnswer } from '../src/evidence/scores.ts';
import { redactText } from '../src/json/index.ts';
import { finderTable } from '../src/json/redact/finders.ts';
import { gitleaksTokens } from '../src/json/redact/gitleaks-rules.ts';
import { tokenRules } from '../src/json/redact/token-rules.ts';
import { computeSignals, estimateTokens, resolveSignalConfig } from '../src/signals/index.ts';
import { cpuMs } from './support/cpu-time.ts';
import { Gauge } from './support/machine-speed.ts';
import { nearMisses } from './support/near-misses.ts';
import { random } from './support/random.ts';
import { sized } from './support/size.ts';

/**
 * Sixteen times the text may take this many times as long: linear is 16, up to three times that if a table outgrows a
 * cache; quadratic is 256.
 */
const MOST = 80;

const SMALL = sized(16, 64) * 1024;
const GROWTH = 16;

const config = resolveSignalConfig();
const next = random(7);
const UUID = '550e8400-e29b-41d4-a716-446655440000';

function repeated(piece: string): (length: number) => string {
  return (length) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
}

function joined(token: (index: number) => string): (length: number) => string {
  return (length) => {
    const tokens: string[] = [];
    for (let size = 0, i = 0; size < length; i += 1) {
      const piece = token(i);
      tokens.push(piece);
      size += piece.length + 1;
    }
    return tokens.join(' ').slice(0, length);
  };
}

/** All tokens of so many characters of an alphabet that stand at the given places; zeros elsewhere. */
function tokensVaryingAt(places: readonly number[], length: number): (index: number) => string {
  return (index) => {
    const token = Array.from({ length }, () => '0');
    let rest = index;
    for (const place of places) {
      token[place] = '0123456789abcdefghijklmnopqrstuvwxyz'[rest % 36] as string;
      rest = Math.floor(rest / 36);
    }
    return token.join('');
  };
}

const TEXTS: Readonly<Record<string, (length: number) => string>> = {
  'one run of digits': repeated('7'),
  'one run of letters': repeated('a'),
  'one run of hex letters and dashes': repeated('a-'),
  'one run of hex letters, then digits': (length) => 'a'.repeat(length - 10) + '1'.repeat(10),
  'hex letters with a digit now and then': repeated('abcdefabcdef1'),
  'UUIDs that lack their last digit': repeated(`${UUID.slice(0, -1)} `),
  'UUIDs one after the other': repeated(`${UUID}-`),
  'UUIDs that begin with a letter and end in a word': repeated('abcdefab-cdef-1abc-8abc-abcdefabcdefx '),
  'timestamps that never end': repeated('2026-02-10T12:01:00.'),
  'a timestamp with a fraction of the whole text': (length) =>
    `2026-02-10T12:01:00.${'1'.repeat(length - 21)}x`,
  'dates that run into each other': repeated('2026-02-10-'),
  'numbers that run into each other': repeated('1.'),
  'a number with a fraction of the whole text': (length) => `1.${'2'.repeat(length - 3)}x`,
  'signs and points': repeated('+-.'),
  'signs, points and a digit': repeated('+-.1'),
  'white space': repeated(' '),
  'white space of every kind': repeated(' \t\n\r\v\f\u001c\u0085\u00a0\u2003\u3000'),
  'control characters': repeated('\u0001\0'),
  'capital sigmas': repeated('Σ'),
  'a sigma and case-ignorable characters': (length) => `ΑΣ${'\u0301'.repeat(length - 3)}Α`,
  'many sigmas between case-ignorable characters': repeated(`ΑΣ${"'.".repeat(500)}`),
  'dotted capital I': repeated('İ'),
  'digits of another script': repeated('٣'),
  'surrogates without their other half': repeated('\ud800'),
  'phrases that almost are': repeated('not sur i thin mayb definitel guarantee '),
  'phrases of two words': repeated('not sure i think '),
  'the same long token': repeated(`${'abcdefghij'.repeat(50)} `),
  'long tokens that differ at the end': joined((i) => 'x'.repeat(200) + i),
  'different short tokens': joined((i) => i.toString(36)),
  'different random tokens': joined(() => next(2 ** 31).toString(36) + next(2 ** 31).toString(36)),
  'tokens that differ in the last bytes of the words of a hash': joined(tokensVaryingAt([3, 7, 11, 15], 16)),
  'tokens that differ in the last bytes only': joined(tokensVaryingAt([15, 14, 13], 16)),
  'long tokens that differ in the high bytes only': joined(tokensVaryingAt([7, 15, 23, 31], 32)),
};

function fastest(run: () => void, runs: number): number {
  return Math.min(...Array.from({ length: runs }, () => cpuMs(run)));
}

/** Whether the time grows with the text and no faster; looked at again before it is called a failure. */
function assertLinear(run: (length: number) => () => void, most = MOST, length = SMALL): void {
  const small = run(length);
  const large = run(GROWTH * length);
  let growth = Number.POSITIVE_INFINITY;
  for (const runs of [1, 3, 3]) {
    if (growth <= most) break;
    growth = Math.min(growth, fastest(large, runs) / fastest(small, runs));
  }
  assert.ok(growth <= most, `sixteen times the text takes ${growth.toFixed(1)} times the time`);
}

// The first texts of the process also wait for the compiler.
const warm = joined((i) => `Word${i} é ${i}. not sure`)(SMALL);
for (let i = 0; i < 10; i += 1)
  computeSignals({ prompt: warm, answer: warm, retrievedContext: warm }, config);

for (const [name, make] of Object.entries(TEXTS)) {
  test(`the time for ${name} is linear`, () => {
    assertLinear((length) => {
      const text = make(length);
      const other = make(length).toUpperCase();
      const input = { prompt: text, answer: text, retrievedContext: other, secondaryAnswer: text };
      return () => computeSignals({ ...input, toolResultSummary: text }, config);
    });
  });
}

test('estimating the tokens of a text takes no longer beyond a bound', () => {
  const makes = [repeated('a'), joined((i) => `word${i}`), repeated('日本'), repeated(' ')];
  for (const make of makes.slice(0, sized(2, makes.length))) {
    const run = (length: number) => {
      const text = make(length);
      return () => estimateTokens(text, 'gpt-4o');
    };
    assertLinear(run, 3, 64 * 1024);
  }
});

test('what may be comments in SQL is read in the time of its length', () =>
  assertLinear(
    (length) => {
      const step = { tool: 'execute_sql', arguments: { sql: `${repeated('-- ')(length)}x` }, result: 'ok' };
      return () => scoreAnswer({ prompt: 'Run it.', answer: 'I ran it.', steps: [step] });
    },
    MOST,
    6,
  ));

/** Most CPU milliseconds that redacting a megabyte takes, whatever it says, when the machine is at its best. */
const MOST_REDACTION = 400;
const ADVERSE_CHARS = 10_000;
const gauge = new Gauge();

/** CPU milliseconds for a megabyte, of the best of some tries if the first is too long. */
function redactionTime(text: string): number {
  let best = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 12 && best > MOST_REDACTION; tries += 1) {
    gauge.begin();
    const spent = cpuMs(() => redactText(text));
    best = Math.min(best, (spent * 1e6) / Buffer.byteLength(text) / Math.max(1, gauge.slowness()));
  }
  return best;
}

function assertRedactedFast(texts: Iterable<string>): void {
  const slow: string[] = [];
  for (const text of texts) {
    const time = redactionTime(text);
    if (time > MOST_REDACTION) slow.push(`${Math.round(time)} ms: ${JSON.stringify(text.slice(0, 80))}`);
  }
  assert.deepEqual(slow, []);
}

test('what announces a secret, again and again, is redacted in the time of its length', () => {
  const starts = [...new Set(finderTable().entries.flatMap((entries) => entries.map(({ start }) => start)))];
  const ends = [
    '',
    '=',
    ' ',
    ': ',
    '="',
    '":"',
    '=aaaaaa\n',
    '\n',
    ' | ',
    '\t',
    ' -p',
    '/',
    '\\',
    '_a=',
    '=aB',
  ];
  assert.ok(starts.length > 400);
  assertRedactedFast(
    starts.flatMap((start, index) =>
      ends
        .filter((_, end) => (index + end) % sized(8, 3) === 0)
        .flatMap((end) =>
          [start + end, `"name":"${start}${end}`].map((piece) => repeated(piece)(ADVERSE_CHARS)),
        ),
    ),
  );
});

test('what is almost a token is redacted in the time of its length', () => {
  const forms = [...tokenRules().map(({ form }) => form.source), ...gitleaksTokens().map(([, form]) => form)];
  assert.ok(forms.length > 200);
  assertRedactedFast(
    forms
      .filter((_, index) => sized(index % 4, 0) === 0)
      .flatMap((form) => nearMisses(form))
      .filter((miss) => miss !== '')
      .flatMap((miss) => ['', ' ', '='].map((end) => repeated(miss + end)(ADVERSE_CHARS))),
  );
});

/** A name that no other has. */
const nameAt = (index: number): string => (index + 600).toString(36).replace(/\d/g, 'q');

const ADVERSE: readonly ((length: number) => string)[] = [
  repeated('password='),
  repeated('AccountKey='),
  repeated('name=password '),
  repeated('name=password value= '),
  repeated('password: ["a","b",'),
  repeated('-----BEGIN PRIVATE KEY-----Version: '),
  repeated('curl -u a:"'),
  repeated('mysql -p$'),
  repeated('password  '),
  repeated('password is '),
  repeated('"name":"password","value":{"a":'),
  repeated('redis-cli -a'),
  repeated(`AC${'1a'.repeat(16)} token `),
  repeated('[redacted]password='),
  joined((index) => `${nameAt(index)}pass`),
  joined((index) => `password="${nameAt(index)}token",`),
  joined((index) => `curl ${nameAt(index)} -u`),
];

test('texts made for a finder are redacted in the time of their length', () => {
  assertRedactedFast(ADVERSE.map((make) => make(5 * ADVERSE_CHARS)));
});
