/**
 * What frameworks do beside other observability packages, in an application made by this test. The pairs and
 * the package that is loaded first take turns; `OBSERVATORY_TEST_SIZE=million` tries each pair in both orders.
 */
import assert from 'node:assert/strict';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '../support/free-port.ts';
import { FreshApps, node24, REGISTER } from '../support/fresh-app.ts';
import { assertStored, assertStoredRun } from '../support/one-run.ts';
import { noPython, pythonProgram, pythonWithPackages } from '../support/python.ts';
import { everyOther } from '../support/size.ts';

const PEERS = [
  { peer: 'dd-trace', flags: ['--import', 'dd-trace/initialize.mjs'], newest: true },
  { peer: 'Sentry', flags: ['--import', './sentry.mjs'] },
  { peer: 'OpenInference', flags: ['--import', './openinference-frames.mjs'] },
  { peer: 'Traceloop', flags: ['--import', './traceloop.mjs'], sendsSpans: true },
];

interface Framework {
  readonly framework: string;
  readonly program: string;
  /** Calls of the model; they are one run. */
  readonly calls: number;
  readonly output: RegExp;
  readonly callers: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly newest?: boolean;
  /** The peer whose file loads the framework: where that comes first, before our hooks, its calls are not seen. */
  readonly loadedBy?: string;
}

const DONE = /^done\n$/;
const FRAMEWORKS: readonly Framework[] = [
  {
    framework: 'AI SDK',
    program: 'ai-sdk.mjs',
    calls: 2,
    output: DONE,
    callers: ['ai-sdk-mcp-client > echo'],
    newest: true,
  },
  {
    framework: 'LangGraph',
    program: 'langgraph.mjs',
    calls: 2,
    output: DONE,
    callers: ['@langchain/mcp-adapters > echo'],
    env: { FRAMEWORK: 'langgraph' },
  },
  {
    framework: 'Mastra',
    program: 'mastra.mjs',
    calls: 2,
    output: DONE,
    callers: ['echo > echo'],
  },
  {
    framework: 'OpenAI Agents SDK',
    program: 'openai-agents.mjs',
    calls: 2,
    output: DONE,
    callers: ['echo > echo'],
    env: { FRAMEWORK: 'agents', EXPORTS: 'none' },
    loadedBy: 'OpenInference',
  },
  {
    framework: 'FastMCP',
    program: 'fastmcp.mjs',
    calls: 0,
    output: /^said: hi$/m,
    callers: ['app > fast'],
  },
];

let apps: FreshApps;
let folder: string;
before(async () => {
  apps = await FreshApps.start();
  folder = await apps.frames();
  await copyFile(pythonProgram('mcp_client.py'), join(folder, 'mcp_client.py'));
});
after(() => apps[Symbol.asyncDispose]());

for (const [place, { peer, flags, newest, sendsSpans }] of PEERS.entries()) {
  const orders = [
    [...flags, ...REGISTER],
    [...REGISTER, ...flags],
  ];
  const run = async (program: string, order: readonly string[], needs24: boolean, env = {}) =>
    await apps.run(folder, program, {
      node: needs24 ? await node24() : undefined,
      flags: order,
      isStored: sendsSpans === true ? 'by service' : true,
      env: { DD_TRACE_STARTUP_LOGS: 'false', DD_INSTRUMENTATION_TELEMETRY_ENABLED: 'false', ...env },
    });

  for (const [
    at,
    { framework, program, calls, output, callers, env, newest: needs24, loadedBy },
  ] of everyOther([...FRAMEWORKS.entries()], place)) {
    test(`${framework} beside ${peer}, in either order: one run, sums are those of the calls, caller and server are named`, async () => {
      for (const order of everyOther(orders, (place + at) >> 1)) {
        const MCP_PORT = String(await freePort());
        const node24 = newest === true || needs24 === true;
        const { code, stdout, stderr, sums } = await run(program, order, node24, { MCP_PORT, ...env });
        assert.equal(code, 0, stderr);
        assert.match(stdout, output);
        assertStored(sums, calls, ...callers);
        if (loadedBy === peer && order === orders[0]) assert.match(stderr, /was loaded before the hooks/);
        else if (calls > 0) assertStoredRun(sums, calls);
      }
    });
  }

  test(`a server under Express with two sessions and a client in Python beside ${peer}, in either order: each caller is named, each call once`, {
    skip: noPython(),
  }, async () => {
    const python = await pythonWithPackages();
    for (const order of everyOther(orders, place)) {
      const node = newest === true ? await node24() : process.execPath;
      const inNode = (name: string) => [node, ...order, 'mcp-client.mjs', name].join();
      const CLIENTS = [inNode('alice'), inNode('bob'), `${python},mcp_client.py`].join(' ');
      const { code, stdout, stderr, sums } = await run('express-mcp.mjs', order, newest === true, {
        CLIENTS,
      });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^3 sessions$/m);
      assertStored(sums, 0, 'alice > echo', 'bob > echo', 'python-client > echo');
      // Three of each client in Node, seen by both sides, and two of the one in Python.
      if (sums !== undefined) assert.equal(sums.toolCalls, 14);
    }
  });
}
