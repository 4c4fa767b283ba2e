import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { checkAnswer, isContradiction, RULES } from '../src/evidence/rules/index.ts';

interface Row {
  readonly prompt: string;
  readonly answer: string;
  readonly steps: readonly { tool: string; arguments: unknown; result: unknown; is_error?: boolean }[];
}

for (const rule of RULES)
  test(`rule ${rule.name}: finds its examples, and leaves those alone that are right`, () => {
    assert.ok(rule.finds.length > 0 && rule.spares.length > 0);
    for (const one of rule.finds)
      assert.ok(
        checkAnswer(one).findings.some((finding) => finding.rule === rule.name),
        `not found: ${one.answer}`,
      );
    for (const one of rule.spares) assert.deepEqual(checkAnswer(one).findings, [], one.answer);
  });

test('each rule decides a committed row that no other rule finds: one that changes nothing has to go', () => {
  const rows = readFileSync('bench/claim-rows.jsonl', 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)
    .map(({ prompt, answer, steps }) => ({
      prompt,
      answer,
      steps: steps.map(({ is_error: isError, ...step }) => ({
        ...step,
        ...(isError === true && { isError }),
      })),
    }));
  const deciding = new Set<string>();
  for (const row of rows) {
    // A contradiction counts beside facts that are not found.
    const { findings } = checkAnswer(row);
    const isOf = (isContradicted: boolean) =>
      findings.filter(({ kind }) => isContradiction(kind) === isContradicted);
    const found = new Set((isOf(true).length > 0 ? isOf(true) : isOf(false)).map(({ rule }) => rule));
    const [only] = found;
    if (only === undefined || found.size > 1 || deciding.has(only)) continue;
    const others = RULES.filter(({ name }) => name !== only);
    const left = checkAnswer(row, others).findings;
    if (!left.some(({ kind }) => isOf(true).length === 0 || isContradiction(kind))) deciding.add(only);
  }
  assert.deepEqual(
    RULES.map(({ name }) => name).filter((name) => !deciding.has(name)),
    [],
  );
});
