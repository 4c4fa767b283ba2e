import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startOtlpReceiver } from './support/otlp-receiver.ts';

const run = promisify(execFile);
const MAIN = fileURLToPath(new URL('../lib/cli.js', import.meta.url));

async function inEmptyFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'observatory-demo-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function environment(extra: Record<string, string>): NodeJS.ProcessEnv {
  const { DATABASE_URL: _, OTEL_EXPORTER_OTLP_ENDPOINT: __, ...env } = process.env;
  return { ...env, ...extra };
}

test('the demo stores real MCP and model traffic, shows it by SQL, and sends it over OTLP', async () => {
  await using receiver = await startOtlpReceiver();
  await inEmptyFolder(async (cwd) => {
    const env = environment({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.baseUrl });
    const { stdout } = await run(process.execPath, [MAIN, 'demo'], { cwd, env });

    assert.match(stdout, /^invoke_workflow invoice-review/m);
    assert.match(stdout, /├─ execute_tool read_text_file/);
    assert.match(stdout, /gpt-4o-2024-08-06 +441 +24 .*high +mismatch +withheld: human_review/);
    assert.match(stdout, /source: scripted/);
    assert.ok(!stdout.includes('\u001b['), 'no colors where stdout is no terminal');

    const status = await run(process.execPath, [MAIN, 'db', 'status', '--json'], { cwd, env });
    assert.equal(JSON.parse(status.stdout).rows, receiver.spans.length);
  });
  assert.equal(new Set(receiver.spans.map((span) => span.traceId)).size, 1);
  const last = receiver.spans.findLast((span) => span.name === 'chat gpt-4o');
  assert.equal(last?.attributes['observatory.tool_claim_mismatch'], true);
});
