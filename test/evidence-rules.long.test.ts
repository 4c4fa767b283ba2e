import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { checkAnswer, isContradiction, RULES } from '../src/evidence/rules/index.ts';

interface Row {
  readonly prompt: string;
  readonly answer: string;
  readonly steps: readonly { tool: string; arguments: unknown; result: unknown; is_error?: boolean }[];
}

const readRows = <R extends Row>(file: string): readonly R[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const row = JSON.parse(line) as R;
      const steps = row.steps.map(({ is_error: isError, ...step }) => ({
        ...step,
        ...(isError === true && { isError }),
      }));
      return { ...row, steps };
    });

const EXAMPLES = readRows<Row & { readonly rule: string; readonly is_found: boolean }>(
  'bench/rule-examples.jsonl',
);
for (const { name } of RULES)
  test(`rule ${name}: finds its examples, and leaves those alone that are right`, () => {
    const own = EXAMPLES.filter(({ rule }) => rule === name);
    assert.deepEqual([...new Set(own.map(({ is_found: isFound }) => isFound))].sort(), [false, true]);
    for (const { is_found: isFound, ...run } of own) {
      const { findings } = checkAnswer(run);
      if (isFound)
        assert.ok(
          findings.some(({ rule }) => rule === name),
          `not found: ${run.answer}`,
        );
      else assert.deepEqual(findings, [], run.answer);
    }
  });

test('each rule decides a committed row that no other rule finds: one that changes nothing has to go', () => {
  const rows = readRows('bench/claim-rows.jsonl');
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
