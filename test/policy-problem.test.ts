/** A policy file that cannot be used denies everything, and says so on stderr and in the result. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tempDir } from './support/temp-dir.ts';

const PROGRAM = `
import { mcpGhost } from 'mcp-observatory/orchestrator';
import { PolicyGate, PolicyHost } from 'mcp-observatory/policy';
const gate = new PolicyGate({ policy: process.argv.at(-1) });
const answer = { message: { role: 'assistant', text: 'nothing', toolCalls: [] }, finishReason: 'stop', failedAttempts: [] };
const provider = { name: 'none', defaultModel: 'none', createCompletion: async () => answer };
const run = await mcpGhost({
  serverConfig: { mcpServers: {} }, systemPrompt: 's', userPrompt: 'u', provider, gate, audit: false,
});
const host = await PolicyHost.open({ gate, planner: { plan: async () => '{}' }, servers: {}, audit: false });
const asked = await host.askOnce('which tool?');
console.log(JSON.stringify({ errors: run.errors.map(({ error }) => error), asked: asked.policyProblem }));
`;

for (const [what, text] of [
  ['missing', undefined],
  ['broken', '{"version": 1,'],
] as const) {
  test(`a ${what} policy file is said once on stderr, and in the results`, async () => {
    const folder = tempDir();
    const policy = join(folder, 'alowlist.json');
    if (text !== undefined) writeFileSync(policy, text);
    const args = ['--input-type=module', '-e', PROGRAM, '--', policy];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
      cwd: join(import.meta.dirname, '../..'),
    });
    const { errors, asked } = JSON.parse(stdout) as { errors: string[]; asked: string };
    assert.match(asked, /^The policy file '.*alowlist\.json' cannot be /);
    assert.ok(errors.includes(asked), errors.join('\n'));
    assert.equal(stderr.split('alowlist.json').length, 2, stderr);
    assert.match(stderr, /everything is denied/);
  });
}
