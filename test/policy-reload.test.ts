import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { PolicyGate, type PolicyGateOptions } from '../src/policy/index.ts';
import { docTool, tempFile } from './support/policy-fixtures.ts';

const TOOLS = { s: { tools: [docTool('get'), docTool('put')] } };
const call = (tool: string, rest: object = {}) => ({
  server: 's',
  tool,
  args: { doc_id: 'a' },
  runId: 'r',
  ...rest,
});
const GET = { id: 'get', effect: 'allow', server: 's', tool: 'get' };
const PUT = { id: 'put', effect: 'require_approval', server: 's', tool: 'put' };

/** A gate over a policy file, and how to replace the file. */
function gateOver(policy: object, options: Partial<PolicyGateOptions> = {}) {
  const path = tempFile('policy.json', policy);
  const gate = new PolicyGate({ policy: path, tools: TOOLS, ...options });
  const reasonOf = async (tool: string, rest?: object) => (await gate.authorize(call(tool, rest))).reasonCode;
  const write = (value: object | string) =>
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
  return { gate, path, reasonOf, write };
}

test('reloading the same policy keeps what was used of the budgets, and approvals', async () => {
  const policy = { version: 1, rules: [GET, PUT], budgets: { calls_per_run: 2, calls_per_minute: 2 } };
  const { gate, reasonOf, write } = gateOver(policy);
  const approvalToken = gate.approve(call('put'));
  assert.equal(await reasonOf('get'), 'allowed');
  write(JSON.stringify(policy, null, 4));
  assert.equal(gate.reload(), true);
  assert.equal(await reasonOf('put', { approvalToken }), 'approved');
  assert.equal(gate.reload(), true);
  assert.equal(await reasonOf('get'), 'budget_exceeded');
  assert.equal(await reasonOf('get', { runId: 'other' }), 'rate_limited');
});

test('calls made count against the budgets of a changed policy; approvals given under the old one are void', async () => {
  const { gate, reasonOf, write } = gateOver({ version: 1, rules: [GET, PUT] });
  const approvalToken = gate.approve(call('put'));
  for (let i = 0; i < 3; i += 1) assert.equal(await reasonOf('get'), 'allowed');
  write({ version: 1, rules: [GET, PUT], budgets: { calls_per_run: 4, calls_per_minute_per_tool: 3 } });
  assert.equal(gate.reload(), true);
  assert.equal(await reasonOf('get'), 'allowed', 'the fourth');
  assert.equal(await reasonOf('get'), 'budget_exceeded', 'the fifth of the run');
  assert.equal(await reasonOf('put', { approvalToken, runId: 'other' }), 'approval_invalid');
  assert.equal(await reasonOf('get', { runId: 'other' }), 'allowed');
  write({ version: 1, rules: [GET], budgets: { calls_per_minute_per_tool: 2 } });
  assert.equal(gate.reload(), true);
  assert.equal(await reasonOf('get', { runId: 'third' }), 'rate_limited', 'two calls were made before');
  write({ version: 1, rules: [GET], budgets: { calls_per_minute_per_tool: 3 } });
  assert.equal(gate.reload(), true);
  assert.equal(await reasonOf('get', { runId: 'third' }), 'allowed');
  assert.equal(await reasonOf('get', { runId: 'third' }), 'rate_limited');
});

test('the policy in force after the decision point has answered decides', async () => {
  const changes: [object | string, string][] = [
    [{ version: 1, rules: [GET, { ...GET, id: 'no', effect: 'deny', args: { doc_id: {} } }] }, 'rule_denied'],
    [{ version: 1, rules: [{ ...GET, effect: 'require_approval' }] }, 'approval_required'],
    [{ version: 1, rules: [GET], budgets: { calls_per_run: 0 } }, 'budget_exceeded'],
    [{ version: 1, rules: [{ ...GET, tool: 'put' }] }, 'not_allowlisted'],
    [{ version: 1, rules: [GET, PUT] }, 'allowed'],
  ];
  for (const [changed, expected] of changes) {
    const decisionPoint = {
      decide: async () => {
        write(changed);
        assert.equal(gate.reload(), true);
        return { decision: 'allow' } as const;
      },
    };
    const { gate, reasonOf, write } = gateOver({ version: 1, rules: [GET] }, { decisionPoint });
    assert.equal(await reasonOf('get'), expected);
    assert.equal(gate.evaluate(call('get')).policyHash, gate.policyHash);
  }
});

test('a tool that is barred while the decision point waits is denied', async () => {
  const decisionPoint = {
    decide: async () => {
      gate.setTools('s', [docTool('get'), docTool('get')]);
      return { decision: 'allow' } as const;
    },
  };
  const { gate, reasonOf } = gateOver({ version: 1, rules: [GET] }, { decisionPoint });
  assert.equal(await reasonOf('get'), 'tool_duplicate');
});

test('a denial for want of a policy does not name the file; the operator finds it in problem', () => {
  const path = '/nowhere/secret-project/policy.json';
  using gate = new PolicyGate({ policy: path, tools: TOOLS });
  const decision = gate.evaluate(call('get'));
  assert.equal(decision.reasonCode, 'policy_unavailable');
  assert.doesNotMatch(JSON.stringify(decision), /secret-project/);
  assert.match(gate.problem?.message ?? '', /secret-project/);
});
