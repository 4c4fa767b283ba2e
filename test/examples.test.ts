import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

function example(name: string): string {
  return fileURLToPath(new URL(`../examples/${name}`, import.meta.url));
}

test("the README's first example runs and prints the response and its fields", async () => {
  const { stdout } = await run(process.execPath, [example('quick-start.js')]);
  assert.match(stdout, /^Needs human review before approval\.$/m);
  assert.match(stdout, /fallbackReason: 'low_confidence'/);
  assert.match(stdout, /promptHash: '[0-9a-f]{64}'/);
});
