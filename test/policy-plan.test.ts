import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAN_LIMITS, parseStrictJson, StrictJsonError } from '../src/json/index.ts';
import { parsePlan } from '../src/policy/index.ts';
import { needsData, readRows } from './support/data.ts';

const GOOD = '{"type":"call_tool","server":"s","tool":"t","args":{"id":"sp-001"}}';

function reasonOf(raw: unknown): string {
  const result = parsePlan(raw);
  return 'refused' in result ? result.refused.reasonCode : result.plan.type;
}

test('accepts the two plan types, as text with white space around it, bytes or a parsed value', () => {
  assert.equal(reasonOf(GOOD), 'call_tool');
  assert.equal(reasonOf(`\n  ${GOOD}  \n`), 'call_tool');
  assert.equal(reasonOf(Buffer.from(GOOD)), 'call_tool');
  assert.equal(reasonOf(JSON.parse(GOOD)), 'call_tool');
  assert.equal(
    reasonOf('{"type":"final_answer","answer":"Which one?","needs_more_info":true}'),
    'final_answer',
  );
});

test('refuses everything that is not exactly a plan, with its reason', () => {
  const cases: [unknown, string][] = [
    [`Here you go: ${GOOD}`, 'plan_not_json'],
    [`${GOOD}\nThanks!`, 'plan_not_json'],
    [`\`\`\`json\n${GOOD}\n\`\`\``, 'plan_not_json'],
    [`${GOOD}${GOOD}`, 'plan_not_json'],
    [`[${GOOD}]`, 'plan_not_an_object'],
    ['', 'plan_not_json'],
    [123, 'plan_not_an_object'],
    [null, 'plan_not_an_object'],
    [undefined, 'plan_not_json'],
    [`\ufeff${GOOD}`, 'plan_byte_order_mark'],
    [Buffer.from([0x22, 0xff, 0x22]), 'plan_not_utf8'],
    ['{"type":"call_tool","server":"s","tool":"a","tool":"b","args":{}}', 'plan_duplicate_key'],
    ['{"type":"call_tool","server":"s","to\\u006fl":"a","tool":"b","args":{}}', 'plan_duplicate_key'],
    ['{"type":"call_tool","server":"s","tool":"t","args":{"__proto__":{}}}', 'plan_prototype_key'],
    [
      '{"type":"call_tool","server":"s","tool":"t","args":{"constructor":{"prototype":{}}}}',
      'plan_prototype_key',
    ],
    ['{"type":"call_tool","server":"s","tool":"t","args":{"n":9007199254740993}}', 'plan_unsafe_number'],
    ['{"type":"call_tool","server":"s","tool":"t","args":{"n":1e400}}', 'plan_unsafe_number'],
    ['{"type":"final_answer","answer":"\\ud800","needs_more_info":true}', 'plan_ill_formed_string'],
    [
      `{"type":"call_tool","server":"s","tool":"t","args":{"a":${'['.repeat(900)}${']'.repeat(900)}}}`,
      'plan_too_deep',
    ],
    [`{"type":"final_answer","answer":"${'x'.repeat(70_000)}","needs_more_info":true}`, 'plan_too_large'],
    [
      `{"type":"call_tool","server":"s","tool":"t","args":{"a":[${'1,'.repeat(10_000)}1]}}`,
      'plan_too_many_values',
    ],
    ['{"type":"run","server":"s"}', 'plan_unknown_type'],
    ['{"type":"call_tool","server":"s","tool":"t","args":{},"note":"x"}', 'plan_unknown_key'],
    ['{"type":"call_tool","server":"s","tool":"t"}', 'plan_missing_key'],
    ['{"type":"call_tool","server":["s"],"tool":"t","args":{}}', 'plan_wrong_type'],
    ['{"type":"call_tool","server":"s","tool":"t","args":[]}', 'plan_wrong_type'],
    ['{"type":"final_answer","answer":"hello","needs_more_info":false}', 'plan_wrong_type'],
    ['{"type":"final_answer","answer":"   ","needs_more_info":true}', 'plan_wrong_type'],
    [{ type: 'call_tool', x: 1 }, 'plan_missing_key'],
    [Object.create({ type: 'call_tool', server: 's', tool: 't', args: {} }), 'plan_not_json'],
    [{ type: 'call_tool', server: 's', tool: 't', args: { f: () => 1 } }, 'plan_not_json'],
  ];
  for (const [raw, reason] of cases) assert.equal(reasonOf(raw), reason, String(raw).slice(0, 120));
});

test('a value that contains itself is refused, not followed', () => {
  const args: Record<string, unknown> = {};
  args.self = args;
  assert.equal(reasonOf({ type: 'call_tool', server: 's', tool: 't', args }), 'plan_too_deep');
});

test('numbers are judged on their literal: 1E22 is a float, 2^53+1 is not an integer that can be held', () => {
  assert.deepEqual(parseStrictJson('[1E22,-0,0.1,9007199254740991]'), [1e22, -0, 0.1, 9007199254740991]);
  assert.throws(() => parseStrictJson('[-9007199254740993]'), StrictJsonError);
});

test(
  'JSONTestSuite: every invalid file is rejected, every valid one accepted but the two with equal keys',
  needsData('policy'),
  () => {
    interface Row {
      file: string;
      expect: string;
      text?: string;
      b64?: string;
      gen?: { unit: string; count: number; suffix: string };
    }
    const seen = { rejected: 0, accepted: 0 };
    for (const row of readRows<Row>('policy/json_parsing_suite.jsonl')) {
      const text =
        row.text ?? (row.gen === undefined ? '' : row.gen.unit.repeat(row.gen.count) + row.gen.suffix);
      const input = row.b64 === undefined ? text : Buffer.from(row.b64, 'base64');
      let isAccepted = true;
      try {
        parseStrictJson(input, { ...PLAN_LIMITS, maxBytes: 1_000_000 });
      } catch (error) {
        assert.ok(error instanceof StrictJsonError);
        isAccepted = false;
      }
      const hasEqualKeys = row.file.includes('y_object_duplicated_key');
      if (row.expect === 'reject') assert.equal(isAccepted, false, row.file);
      if (row.expect === 'accept') assert.equal(isAccepted, !hasEqualKeys, row.file);
      if (row.expect === 'reject') seen.rejected += 1;
      if (row.expect === 'accept' && isAccepted) seen.accepted += 1;
    }
    assert.deepEqual(seen, { rejected: 188, accepted: 93 });
  },
);

test('what passes reads the same to JSON.parse, and what JSON.parse refuses never passes', () => {
  // Every prefix and every one-character change of a document, which is where a second parser would differ.
  const document = '{"a":[1,-2.5e3,"x\\n\\u00e9",true,null,{"b":{}}],"c":"\\ud83d\\ude00"}';
  for (let at = 0; at <= document.length; at += 1) {
    for (const change of ['', '"', '\\', '}', ',', '0', '\u0000', ' ']) {
      const text =
        document.slice(0, at) + change + document.slice(at + (change === '' ? document.length : 1));
      let strict: unknown;
      try {
        strict = parseStrictJson(text);
      } catch {
        continue;
      }
      assert.deepEqual(strict, JSON.parse(text));
    }
  }
});
