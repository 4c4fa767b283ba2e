import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { isSameButFor, learnPattern } from '../src/golden/file/pattern.ts';
import {
  type AnswerCheck,
  type ComparisonRules,
  compareWithGolden,
  fromGoldenInput,
  type Golden,
  type GoldenOutput,
  type Matcher,
  mcpGhost,
  readGolden,
  toMatchGolden,
  writeGolden,
} from '../src/golden/index.ts';
import { random } from './support/random.ts';

type Json = Record<string, unknown>;

const LIBRARY = new URL('../../goldens/openai/happy_path_customer_lookup.json', import.meta.url);
const original = await readGolden(LIBRARY);
const folder = await mkdtemp(join(tmpdir(), 'golden-compare-'));
after(() => rm(folder, { recursive: true }));

function ruled(rules: Partial<ComparisonRules>): Golden {
  const none: ComparisonRules = { final_answer: { check: 'exact' }, matchers: {}, bounds: {} };
  return { ...original, comparison: { ...none, ...rules } };
}

function messages(golden: Golden, output: Json, replayed = false): string[] {
  const whole: GoldenOutput = { ...original.golden_output, ...output };
  return compareWithGolden(golden, whole, { replayed }).map(({ message }) => message);
}

test('an answer is held against the golden as its rule says', () => {
  const said = String(original.golden_output.final_result);
  const cases: [AnswerCheck, string, RegExp | undefined][] = [
    [{ check: 'exact' }, said, undefined],
    [{ check: 'exact' }, said.toLowerCase(), /^final_result: expected/],
    [{ check: 'contains', texts: ['ada', '42'] }, 'ADA got 42', undefined],
    [{ check: 'contains', texts: ['Ada', 'Rome'] }, said, /lacks "Rome"/],
    [{ check: 'normalised_hash' }, said.toUpperCase().replace('20', '99'), undefined],
    [{ check: 'normalised_hash' }, `${said} Really.`, /do not count/],
    [{ check: 'token_overlap', least: 0.7 }, said.replace('make', 'give'), undefined],
    [{ check: 'token_overlap', least: 0.7 }, 'Something else.', /word overlap .* is 0\.00, below 0\.7/],
    [{ check: 'any' }, '', undefined],
  ];
  for (const [final_answer, answer, message] of cases) {
    const found = messages(ruled({ final_answer }), { final_result: answer });
    if (message === undefined) assert.deepEqual(found, [], `${final_answer.check}: ${answer}`);
    else assert.match(found.join('\n'), message);
  }
});

test('a volatile field may differ as its matcher says, and others may not', () => {
  const [first, second] = original.golden_output.tool_chain as [Json, Json];
  const withId = (id: unknown) => ({ tool_chain: [{ ...first, arguments: { id } }, second] });
  const place = 'tool_chain[*].arguments.id';
  const cases: [Matcher, unknown, unknown][] = [
    ['any', 17, undefined],
    ['same_type', 'C99', 17],
    ['uuid', '0f8fad5b-d9cb-469f-a165-70867728950e', 'C18'],
    ['timestamp', '2026-11-21T20:00:00.123Z', 'yesterday'],
    ['number', '17', 'C18'],
    [{ like: 'C*7*' }, 'C1777x', 'D17'],
    [{ like: 'ab*ba' }, 'abba', 'aba'],
  ];
  for (const [matcher, fine, wrong] of cases) {
    const golden = ruled({ matchers: { [place]: matcher } });
    assert.deepEqual(messages(golden, withId(fine)), [], JSON.stringify(matcher));
    if (wrong === undefined) continue;
    assert.match(messages(golden, withId(wrong)).join(), /^tool_chain\[0\]\.arguments\.id: expected "C17"/);
  }
  assert.equal(messages(ruled({}), withId('C99')).length, 1);
});

test('bounds on time and tokens hold, and a replay must use the same tokens', () => {
  const metadata = original.golden_output.execution_metadata as Json;
  const used = (total_tokens: number, total_execution_time = 1) => ({
    execution_metadata: {
      ...metadata,
      total_execution_time,
      token_usage: { ...(metadata.token_usage as Json), total_tokens },
    },
  });
  const golden = ruled({ bounds: { max_seconds: 5, max_total_tokens: 1_000, max_token_ratio: 1.5 } });
  assert.deepEqual(messages(golden, used(500)), []);
  assert.match(messages(golden, used(600)).join(), /total_tokens: 600 is more than the bound of 540/);
  assert.match(messages(golden, used(360, 6)).join(), /total_execution_time: 6 is more than the bound of 5/);
  const dear = ruled({ bounds: { max_cost_usd: 1 } });
  const unpriced = { execution_metadata: { ...metadata, cost_usd: null } };
  assert.match(messages(dear, unpriced).join(), /cost_usd: unknown \(.*\), not within the bound of 1/);
  assert.match(messages(golden, used(361), true).join(), /total_tokens: expected 360, got 361/);
});

test('toMatchGolden passes for the same course, names what differs, and accepts it on request', async () => {
  const path = join(folder, 'match.json');
  await writeGolden(path, original);
  const result = await mcpGhost({ ...fromGoldenInput(original.input), golden: { mode: 'replay', path } });
  await toMatchGolden(result, path, { replayed: true });
  const other = { ...result, toolChain: result.toolChain.toReversed() };
  await assert.rejects(toMatchGolden(other, path), {
    code: 'GOLDEN_MISMATCH',
    message:
      /match\.json .*UPDATE_GOLDENS=1.*tool_chain\[0\]\.tool_name: expected "scenario\.find_customer", got "scenario\.add"/s,
  });
  await toMatchGolden(other, path, { update: true });
  await toMatchGolden(other, path);
  await assert.rejects(toMatchGolden(result, path), { code: 'GOLDEN_MISMATCH' });
  // What vitest and jest share with the matchers they run.
  const shared = Symbol.for('$$jest-matchers-object');
  for (const state of ['new', 'all']) {
    Object.assign(globalThis, { [shared]: { state: { snapshotState: { _updateSnapshot: state } } } });
    if (state === 'new') await assert.rejects(toMatchGolden(result, path), { code: 'GOLDEN_MISMATCH' });
    else await toMatchGolden(result, path);
  }
  Reflect.deleteProperty(globalThis, shared);
});

test('ids, numbers and addresses that two runs show vary in a third, and nothing else does', () => {
  const next = random(7);
  const signs = (alphabet: string, length: number) =>
    Array.from({ length }, () => alphabet[next(alphabet.length)]).join('');
  const [DIGITS, HEX] = ['0123456789', '0123456789abcdef'];
  const BASE62 = `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz${DIGITS}`;
  const kinds: readonly (() => string)[] = [
    () => signs(`${BASE62}-_`, 12),
    () => signs(`${BASE62}+/`, 12),
    () => signs('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16),
    () => `toolu_01${signs(BASE62, 22)}`,
    () => signs(HEX, 32),
    () => `17${signs(DIGITS, 17)}`,
    () => Array.from({ length: 6 }, () => signs(HEX, 2)).join(':'),
    () => Array.from({ length: 4 }, () => next(256)).join('.'),
    () => `/tmp/run_${signs(BASE62, 6)}/out`,
    () => String(1 + next(99_999)),
    () => `http://127.0.0.1:${1_024 + next(60_000)}/x`,
    () => `${next(2) === 0 ? (next(20_000) / 1_000).toFixed(2) : next(20)} s`,
    () => (next(2) === 0 ? `${next(900)} ms` : `${(next(900) / 100).toFixed(2)} s`),
    () => (next(2) === 0 ? `${(next(9_000) / 10).toFixed(1)} MB` : `${next(1_000)} KB`),
    () => next(2_000_000).toLocaleString('en-US'),
    () => String(next(200) - 100),
    () => String(next(1_000) / (next(2) === 0 ? 1e12 : 1_013)),
  ];
  let [tried, missed] = [0, 0];
  for (const kind of kinds) {
    for (let at = 0; at < 100; at += 1) {
      const texts = [kind(), kind(), kind()].map((id) => [
        `Call ${id}.`,
        `See https://example.com/a/b?x=1&id=${id}&z=2#top`,
        `Take ${JSON.stringify({ id, of: [1, 2, id], text: JSON.stringify({ id }) })}`,
      ]);
      const [first = [], second = [], third = []] = texts;
      for (const [index, recorded] of first.entries()) {
        const [other, later] = [second[index] ?? '', third[index] ?? ''];
        const pattern = learnPattern(recorded, other);
        if (recorded === other || pattern === undefined) continue;
        tried += 1;
        if (!isSameButFor(pattern, recorded, later)) missed += 1;
        for (const changed of [later.replace(/^\w+/, 'Never'), `${later} Be rude.`])
          assert.ok(!isSameButFor(pattern, recorded, changed), `${pattern} takes ${changed}`);
      }
    }
  }
  // Two ids may begin or end alike by chance.
  assert.ok(tried > 5_000 && missed < tried / 100, `${missed} of ${tried}`);
});
