import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const SUITE = resolve(import.meta.dirname, '../../node_modules/.bin/conformance');
const CLIENT = resolve(import.meta.dirname, 'fixtures/conformance-client.js');

// The scenarios of a client that needs no authorization, with the checks each has.
const SCENARIOS = { initialize: 1, tools_call: 1, 'elicitation-sep1034-client-defaults': 5, 'sse-retry': 3 };

for (const [scenario, checks] of Object.entries(SCENARIOS)) {
  for (const client of ['v1', 'v2']) {
    test(`the MCP conformance scenario ${scenario} passes with client ${client}`, async () => {
      const { stdout, stderr } = await promisify(execFile)(
        SUITE,
        [
          'client',
          '--command',
          `${process.execPath} ${CLIENT}`,
          '--scenario',
          scenario,
          '--timeout',
          '20000',
        ],
        { env: { ...process.env, CONFORMANCE_CLIENT: client }, timeout: 60_000 },
      );
      assert.match(stdout + stderr, new RegExp(`Passed: ${checks}/${checks}, 0 failed, 0 warnings`));
    });
  }
}
