import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fuzzPlans, isClean, runOfflineEval } from '../src/cli/eval/offline.ts';
import { gateCommand } from '../src/cli/gate.ts';
import { runCommand } from './support/run-command.ts';
import { sized } from './support/size.ts';
import { tempDir } from './support/temp-dir.ts';

/** Fuzzed plans per run. */
const CASES = Number(process.env.POLICY_FUZZ_CASES ?? sized(2_000, 100_000));

test('an adversarial planner gets no call outside allowlist and schema to a server (fixed seed)', async () => {
  const metrics = await fuzzPlans(CASES, 20_261_120);
  assert.deepEqual([metrics.slipped, metrics.refused_honest, metrics.examples], [0, 0, []]);
  assert.ok(metrics.allowed > CASES * 0.05, 'the planner is honest at times, and then heard');
  assert.ok((metrics.by_gate.G1 ?? 0) > 0 && (metrics.by_gate.G2 ?? 0) > 0 && (metrics.by_gate.G3 ?? 0) > 0);
});

test('an adversarial planner gets no call outside allowlist and schema to a server (fresh seed)', async (t) => {
  const seed = randomInt(2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const metrics = await fuzzPlans(CASES, seed);
  assert.deepEqual([metrics.slipped, metrics.refused_honest, metrics.examples], [0, 0, []]);
});

test('gate eval runs every suite, writes its report and ends in 0', async () => {
  const out = join(tempDir(), 'results/offline_gate_eval.json');
  const { code, stdout } = await runCommand(gateCommand, [
    'eval',
    '--out',
    out,
    '--cases',
    '500',
    '--seed',
    '7',
  ]);
  assert.equal(code, 0, stdout);
  const report = JSON.parse(readFileSync(out, 'utf8'));
  assert.deepEqual(Object.keys(report), [
    'policy_gate',
    'plan_parse',
    'plan_gate',
    'typed_output',
    'grounding',
    'plan_fuzz',
    'grounding_fuzz',
    'cases',
  ]);
  assert.equal(report.plan_fuzz.seed, 7);
  assert.equal(report.grounding_fuzz.invalid_slipped, 0);
});

test('the evaluation tells a broken gate from a sound one', async () => {
  const report = await runOfflineEval(50);
  assert.equal(isClean(report), true);
  assert.equal(isClean({ ...report, plan_fuzz: { ...report.plan_fuzz, slipped: 1 } }), false);
  assert.equal(isClean({ ...report, grounding: { ...report.grounding, failed: 1 } }), false);
});
