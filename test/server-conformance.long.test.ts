/**
 * The client scenarios of the MCP conformance suite, in the last version that runs on Node 20 (a dev dependency) and in
 * a newer one on Node 22 (installed by the test).
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CLIENT = resolve(import.meta.dirname, 'fixtures/conformance-client.js');

// The scenarios of a client that needs no authorization, with the checks each has.
const SCENARIOS = { initialize: 1, tools_call: 1, 'elicitation-sep1034-client-defaults': 5, 'sse-retry': 3 };

/** Tests every scenario with the programs in a folder of binaries. */
function testScenarios(bin: () => string): void {
  for (const [scenario, checks] of Object.entries(SCENARIOS)) {
    for (const client of ['v1', 'v2']) {
      test(`the scenario ${scenario} passes with client ${client}`, async () => {
        const args = ['--command', `node ${CLIENT}`, '--scenario', scenario, '--timeout', '60000'];
        const PATH = `${bin()}${delimiter}${process.env.PATH}`;
        const env = { ...process.env, PATH, CONFORMANCE_CLIENT: client };
        const { stdout, stderr } = await run(join(bin(), 'conformance'), ['client', ...args], {
          env,
          timeout: 120_000,
        });
        assert.match(stdout + stderr, new RegExp(`Passed: ${checks}/${checks}, 0 failed, 0 warnings`));
      });
    }
  }
}

describe('MCP conformance 0.1.13 on this Node', () => {
  testScenarios(() => resolve(import.meta.dirname, '../../node_modules/.bin'));
});

describe('MCP conformance 0.1.16 on Node 22', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'conformance-'));
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true }));
    const packages = ['@modelcontextprotocol/conformance@0.1.16', 'node@22'];
    await run('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: folder });
    const { stdout } = await run(join(folder, 'node_modules/.bin/node'), ['--version']);
    assert.match(stdout, /^v22\./);
  });
  after(() => rm(folder, { recursive: true, force: true }));
  testScenarios(() => join(folder, 'node_modules/.bin'));
});
