import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { compileSchema } from '../src/json/index.ts';
import {
  AuditLog,
  checkSummary,
  decisionToWire,
  PolicyGate,
  parsePlan,
  readPolicy,
} from '../src/policy/index.ts';
import { SEED_ALLOWLIST, SEED_TOOLS } from './support/policy-fixtures.ts';
import { tempDir } from './support/temp-dir.ts';

const ROOT = new URL('../../', import.meta.url).pathname;

function schema(name: string) {
  return compileSchema(JSON.parse(readFileSync(join(ROOT, 'schema', name), 'utf8')));
}

test('the allowlist of the repository fits its schema, and reads', () => {
  const allowlist = JSON.parse(readFileSync(join(ROOT, 'config/allowlist.json'), 'utf8'));
  assert.deepEqual(schema('allowlist.schema.json').check(allowlist), { valid: true });
  assert.equal(readPolicy(allowlist).document.rules.length, 6);
});

test('plan.schema.json accepts what parsePlan accepts and refuses what it refuses', () => {
  const { check } = schema('plan.schema.json');
  const plans: unknown[] = [
    { type: 'call_tool', server: 's', tool: 't', args: {} },
    { type: 'call_tool', server: 's', tool: 't', args: [] },
    { type: 'call_tool', server: '', tool: 't', args: {} },
    { type: 'call_tool', server: 's', tool: 't' },
    { type: 'call_tool', server: 's', tool: 't', args: {}, more: 1 },
    { type: 'final_answer', answer: 'x', needs_more_info: true },
    { type: 'final_answer', answer: ' ', needs_more_info: true },
    { type: 'final_answer', answer: 'x', needs_more_info: false },
    { type: 'other' },
    [],
    'x',
  ];
  for (const plan of plans) assert.equal(check(plan).valid, 'plan' in parsePlan(plan), JSON.stringify(plan));
});

test('summary.schema.json agrees with the form the gate asks for', () => {
  const { check } = schema('summary.schema.json');
  const item = { claim: 'Mask emails', evidence: 'Mask emails' };
  const summaries: [unknown, boolean][] = [
    [{ type: 'summary', bullets: [item], risks: [], recommendations: [] }, true],
    [{ type: 'summary', bullets: [] }, true],
    [{ type: 'summary', risks: [], recommendations: [] }, false],
    [{ type: 'summary', bullets: [{ ...item, note: 1 }] }, false],
    [{ type: 'summary', bullets: [], other: [] }, false],
    [{ type: 'report', bullets: [] }, false],
    [{ type: 'summary', bullets: Array(6).fill(item) }, false],
    [{ type: 'summary', bullets: [{ claim: ' ', evidence: 'x' }] }, false],
  ];
  for (const [summary, isFine] of summaries) {
    assert.equal(check(summary).valid, isFine, JSON.stringify(summary));
    assert.equal(checkSummary({ a: 'Mask emails' }, summary).reasonCode !== 'summary_invalid', isFine);
  }
});

test('decisions and audit records fit their schemas', () => {
  using gate = new PolicyGate({ policy: SEED_ALLOWLIST, tools: SEED_TOOLS });
  const { check } = schema('gate-decision.schema.json');
  const calls = [
    { server: 'mcp-sharepoint', tool: 'fetch_sharepoint_doc', args: { doc_id: 'x' } },
    { server: 'nowhere', tool: 't', args: { n: Number.NaN } },
  ];
  for (const call of calls) assert.deepEqual(check(decisionToWire(gate.evaluate(call))), { valid: true });
  const dir = tempDir();
  using audit = new AuditLog({ dir });
  audit.startRun().finish();
  const record = schema('audit-record.schema.json');
  for (const name of readdirSync(dir).filter((file) => file.startsWith('run-'))) {
    for (const line of readFileSync(join(dir, name), 'utf8').trim().split('\n')) {
      assert.deepEqual(record.check(JSON.parse(line)), { valid: true });
    }
  }
});
