// Runs with the others that need a quiet PostgreSQL: a refresh waits for every open transaction of its server.
/** An application of Next.js 16 with two lines of ours, as `setup` writes them, as `next start` serves it and as `output: 'standalone'` is deployed. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { setupCommand } from '../../src/cli/setup/index.ts';
import { openDatabase, refreshRollups } from '../../src/postgres/index.ts';
import { diagnose } from '../../src/setup/index.ts';
import { withObservatory } from '../../src/setup/next.ts';
import { ROOT } from '../support/consumer.ts';
import { FreshApps } from '../support/fresh-app.ts';
import { noPostgres, type PostgresServer, startQuietPostgres } from '../support/postgres-server.ts';
import { runCommand } from '../support/run-command.ts';

const run = promisify(execFile);
const skip = noPostgres();
let apps: FreshApps;
let server: PostgresServer;
let folder: string;
before(async () => {
  if (skip) return;
  [apps, server] = await Promise.all([FreshApps.start(), startQuietPostgres()]);
  const packages = [
    'next@16',
    'react@19',
    'react-dom@19',
    'openai@6',
    '@modelcontextprotocol/sdk@1',
    'zod@4',
  ];
  folder = await apps.install('next', [...packages, '@modelcontextprotocol/server@2', 'mcp-handler@2.4.0']);
  await cp(join(ROOT, 'test/fixtures/next'), folder, { recursive: true });
  const { stdout } = await runCommand(setupCommand, ['--folder', folder, '--no-run']);
  assert.match(stdout, /^instrumentation\.js \(new\)/m);
});
after(async () => {
  await apps?.[Symbol.asyncDispose]();
  await server?.stop();
});

const build = (env: object = {}) =>
  run(process.execPath, ['node_modules/next/dist/bin/next', 'build'], {
    cwd: folder,
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1', ...env },
  });
const statesIn = async () =>
  Object.fromEntries((await diagnose({ folder, env: {} })).modules.map(({ name, state }) => [name, state]));

interface Lists {
  readonly serverExternalPackages: readonly string[];
  readonly outputFileTracingIncludes: Readonly<Record<string, readonly string[]>>;
}

test('a configuration of any form that Next.js takes is added to', async () => {
  const config = await withObservatory(Promise.resolve({ distDir: 'out' }));
  assert.equal(config.distDir, 'out');
  const transpilePackages = ['mcp-observatory', 'openai'];
  const given: object = { transpilePackages, outputFileTracingIncludes: { '/*': 'data/**' } };
  const { serverExternalPackages, outputFileTracingIncludes } = withObservatory(given) as Lists;
  const both = serverExternalPackages.filter((name) => transpilePackages.includes(name));
  assert.deepEqual(both, [], 'Next.js refuses a package in both lists');
  assert.equal(outputFileTracingIncludes['/*']?.[0], 'data/**');
});

test('Next.js 16: each call is stored once, by next start and standalone, beside mcp-handler', {
  skip,
}, async () => {
  assert.equal((await statesIn()).openai, 'hooked');
  await build();
  assert.equal((await statesIn()).openai, 'hooked');
  // Where nothing is found that was not copied.
  const standalone = join(folder, '..', 'standalone');
  await rename(join(folder, '.next/standalone'), standalone);
  for (const command of ['node_modules/next/dist/bin/next start', join(standalone, 'server.js')]) {
    const url = await server.createMigrated();
    const { stdout, stderr } = await apps.run(folder, 'serve.mjs', {
      flags: [],
      env: { SERVER: command, MCP_OBSERVATORY_DATABASE_URL: url, OTEL_TRACES_EXPORTER: 'none' },
    });
    const content = [{ type: 'text', text: '12' }];
    assert.deepEqual(JSON.parse(stdout), Array(3).fill({ choices: 1, content }), stderr);
    assert.equal(stderr.includes('mcp-observatory'), false, stderr);
    const db = await openDatabase({ url });
    await refreshRollups(db);
    const { rows } = await db.query(
      `SELECT count(*)::int AS runs, sum(model_calls)::int AS models, sum(tool_calls)::int AS tools FROM mcp_runs
        WHERE has_root AND model_calls > 0`,
    );
    assert.deepEqual(rows, [{ runs: 3, models: 3, tools: 3 }], command);
    await db.close();
  }
});
