import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bundle } from './support/bundle.ts';
import { noPostgres, startPostgres } from './support/postgres-server.ts';
import { longTest } from './support/size.ts';

const run = promisify(execFile);

// The examples import the package by its name.
bundle();

function example(name: string): string {
  return fileURLToPath(new URL(`../examples/${name}`, import.meta.url));
}

test("the README's first example runs and prints the response and its fields", async () => {
  const { stdout } = await run(process.execPath, [example('quick-start.js')]);
  assert.match(stdout, /^Needs human review before approval\.$/m);
  assert.match(stdout, /fallbackReason: 'low_confidence'/);
  assert.match(stdout, /promptHash: '[0-9a-f]{64}'/);
});

test("the seed's tiered execution answers with the fallback, for the reasons it states", async () => {
  const { stdout } = await run(process.execPath, [example('tiered-execution.js')]);
  assert.equal(stdout, 'Deterministic policy response\ntrue\nlow_confidence\nfalse\n');
});

longTest('an MCP server records in its handler, and another one without a line of code', async () => {
  const { stdout } = await run(process.execPath, [example('mcp-server/main.js')]);
  const [byHand = '', zeroCode = ''] = stdout.trim().split('\n\n');
  assert.match(
    byHand,
    /^Recorded in the handler\n {2}answer: The invoice is not approved\. It needs human review\.\n/,
  );
  assert.match(byHand, /span: chat gpt-4o \(tool -, template payment-risk-v3, risk (?:low|medium|high)\)/);
  assert.match(byHand, /span: tools\/call assess_invoice \(tool assess_invoice,/);
  assert.match(zeroCode, /^Without a line of code\n {2}answer: Invoice INV-92311 .* Needs human review/);
  assert.match(zeroCode, /span: tools\/call payment_risk_check \(tool payment_risk_check,/);
});

longTest('the review example holds a payment back until a person has approved it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'observatory-review-'));
  // The example makes an embedded database where there is no server, which takes seconds.
  const server = noPostgres() ? undefined : await startPostgres();
  try {
    const env = { ...process.env, DATABASE_URL: await server?.createDatabase() };
    const { stdout } = await run(process.execPath, [example('human-review.js'), join(folder, 'db')], { env });
    assert.match(stdout, /^\{\s+status: 'pending_review',\s+reviewId: '[0-9a-f-]{36}'\s+\}/);
    assert.match(stdout, /arguments: \{ invoice: 92311, amount: 120 \}/);
    assert.match(stdout, /status: 'approved',\s+decidedBy: 'ada'/);
    assert.match(stdout, /response: 'pay'/);
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
