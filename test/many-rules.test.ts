import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StepBudget } from '../src/json/index.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { applies, compileRule } from '../src/policy/rule.ts';
import { seededRandom } from './support/random.ts';
import { sized } from './support/size.ts';

const SHAPES: readonly ((i: number) => object)[] = [
  (i) => ({ pattern: `^/team-${i % 7}/[a-z]+$` }),
  (i) => ({ type: 'string', pattern: `^[a-z]+@team-${i % 5}\\.example$`, maxLength: 24 }),
  (i) => ({ pattern: `^(?:plan|note)-(?:${i % 9}|x${i % 4})$` }),
  (i) => ({ pattern: `(?<a>plan)|team-${i % 3}` }),
  (i) => ({ pattern: `^team-${i % 6}` }),
  (i) => ({ const: `plan-${i % 6}` }),
  () => ({ pattern: '\\p{Lu}' }),
];
const VALUES: readonly unknown[] = [
  ...Array.from({ length: 9 }, (_, i) => [
    `/team-${i}/plan`,
    `ann@team-${i}.example`,
    `plan-${i}`,
    `note-x${i}`,
  ]).flat(),
  ...['', 'ÀB', 'x'.repeat(40), 7, null, ['plan'], undefined],
];

test('rules that are looked up by a value decide as each of them does alone', () => {
  const random = seededRandom(15);
  for (let round = 0; round < sized(5, 20); round += 1) {
    const documents = Array.from({ length: 120 }, (_, i) => {
      const effect = (['allow', 'deny', 'require_approval'] as const)[Math.floor(random() * 3)] ?? 'deny';
      const name = random() < 0.8 ? 'path' : 'other';
      const schema = SHAPES[Math.floor(random() * SHAPES.length)]?.(i) ?? {};
      const isRequired = effect === 'allow' && random() < 0.5;
      const args = { [name]: schema };
      return { id: `r${i}`, effect, server: 's', tool: 't', args, ...(isRequired && { required: [name] }) };
    });
    const rules = documents.map((document) => compileRule(document));
    const inputSchema = { type: 'object', properties: { path: {}, other: {} } };
    const tools = { s: { tools: [{ name: 't', inputSchema }] } };
    using gate = new PolicyGate({ policy: { version: 1, rules: documents }, tools });
    gate.assertReady();
    for (const value of VALUES) {
      const args = value === undefined ? { other: 'plan-1' } : { path: value };
      const own = rules.filter((rule) => applies(rule, args, new StepBudget())).map((rule) => rule.document);
      const strongest = ['deny', 'require_approval', 'allow'].find((effect) =>
        own.some((rule) => rule.effect === effect),
      );
      const expected = own.filter(({ effect }) => effect === strongest).map(({ id }) => id);
      const { decision, ruleIds } = gate.evaluate({ server: 's', tool: 't', args });
      assert.equal(decision, strongest ?? 'deny', JSON.stringify(args));
      if (strongest !== undefined) assert.deepEqual(ruleIds, expected, JSON.stringify(args));
    }
  }
});
