/** Beside other observability packages, in either order, and bundled: in applications made by this test. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { FreshApps, node24, REGISTER } from '../support/fresh-app.ts';
import { assertSums } from '../support/one-run.ts';

const SDKS = ['@modelcontextprotocol/sdk@1', 'openai@6', 'zod@4'];
const METRICS = ['gen_ai.client.operation.duration', 'mcp.client.operation.duration'];

interface Peer {
  readonly name: string;
  /** How it is loaded, as its documentation says. */
  readonly flags: readonly string[];
  /** Where its version is another than that of all other tests. */
  readonly packages?: readonly string[];
  /** Whether it needs the newest Node. */
  readonly newest?: boolean;
  /** Whether spans are not ours to send. */
  readonly sendsSpans?: boolean;
}

const PEERS: readonly Peer[] = [
  {
    name: 'dd-trace',
    flags: ['--import', 'dd-trace/initialize.mjs'],
    newest: true,
  },
  // With a copy of import-in-the-middle of its own.
  { name: 'dd-trace 5', packages: ['dd-trace@5.60.0'], flags: ['--import', 'dd-trace/initialize.mjs'] },
  { name: 'Sentry', flags: ['--import', './sentry.mjs'] },
  {
    name: 'OpenInference',
    flags: ['--import', './openinference.mjs'],
  },
  {
    name: 'Traceloop',
    flags: ['--import', './traceloop.mjs'],
    sendsSpans: true,
  },
];

let apps: FreshApps;
before(async () => {
  apps = await FreshApps.start();
});
after(() => apps[Symbol.asyncDispose]());

for (const { name, packages, flags, newest, sendsSpans } of PEERS) {
  test(`beside ${name}, loaded first or last, calls are seen and counted once, metrics are exported and no warning is ours`, async () => {
    const folder = await (packages ? apps.install('other', [...SDKS, ...packages]) : apps.frames());
    const node = newest === true ? await node24() : undefined;
    for (const order of [
      [...flags, ...REGISTER],
      [...REGISTER, ...flags],
    ]) {
      const { code, stdout, stderr, spans, metrics, sums } = await apps.run(folder, 'sdk-calls.mjs', {
        node,
        flags: order,
        isStored: sendsSpans === true ? 'by service' : true,
        env: { DD_TRACE_STARTUP_LOGS: 'false', DD_INSTRUMENTATION_TELEMETRY_ENABLED: 'false' },
      });
      assert.deepEqual([code, stdout], [0, 'done\n'], stderr);
      assert.doesNotMatch(stderr, /not hooked|keeps ES modules|shutdown MeterProvider|dropped|may be lost/);
      for (const metric of METRICS) assert.ok(metrics.includes(metric), `${order}: ${metric}`);
      assertSums(sums, 1);
      if (sums !== undefined) assert.equal(sums.chats, 1, order.join(' '));
      if (sendsSpans === true) continue;
      const ours = spans.filter(({ scope }) => scope.startsWith('mcp-observatory/'));
      // Of initialize, initialized and tools/call both sides, and the model call.
      assert.equal(ours.length, 7, order.join(' '));
    }
  });
}

test('esbuild bundles the package without its optional peers, and the bundle runs', async () => {
  const folder = await apps.install('esbuild', ['esbuild@0.28']);
  const program = `import { startObservatory } from 'mcp-observatory';
    import { mcpGhost } from 'mcp-observatory/orchestrator';
    import { startCollector } from 'mcp-observatory/collector';
    console.log(typeof startObservatory, typeof mcpGhost, typeof startCollector);`;
  await writeFile(join(folder, 'program.mjs'), program);
  // What esbuild wants of every ES module with CommonJS dependencies.
  const banner =
    "import { createRequire as forBundle } from 'node:module'; const require = forBundle(import.meta.url);";
  const flags = [
    '--bundle',
    '--platform=node',
    '--format=esm',
    '--log-level=warning',
    `--banner:js=${banner}`,
  ];
  await promisify(execFile)(
    join(folder, 'node_modules/.bin/esbuild'),
    ['program.mjs', ...flags, '--outfile=bundle.mjs'],
    { cwd: folder },
  );
  const { code, stdout, stderr } = await apps.run(folder, 'bundle.mjs', { flags: [] });
  assert.deepEqual([code, stdout, stderr], [0, 'function function function\n', '']);
});
