/** LangGraph and the OpenAI Agents SDK beside other observability packages, in applications made by this test. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FreshApps, node24, REGISTER } from '../support/fresh-app.ts';
import { assertStored } from '../support/one-run.ts';

const PEERS = [
  { peer: 'dd-trace', flags: ['--import', 'dd-trace/initialize.mjs'], newest: true },
  { peer: 'Sentry', flags: ['--import', './sentry.mjs'] },
  { peer: 'OpenInference', flags: ['--import', './openinference-frames.mjs'] },
  { peer: 'Traceloop', flags: ['--import', './traceloop.mjs'], sendsSpans: true },
];

const PEER_PACKAGES = [
  'dd-trace@6',
  '@sentry/node@11',
  '@arizeai/openinference-instrumentation-openai@4',
  '@opentelemetry/instrumentation@0.223.0',
  '@traceloop/node-server-sdk@0',
];

const FRAMEWORKS = [
  {
    framework: 'langgraph',
    program: 'langgraph.mjs',
    client: '@langchain/mcp-adapters',
    packages: [
      '@langchain/core@1',
      '@langchain/langgraph@1',
      '@langchain/openai@1.5',
      '@langchain/mcp-adapters@1',
      '@modelcontextprotocol/sdk@1',
      'openai@6',
      'zod@4',
      '@arizeai/openinference-instrumentation-langchain@4',
    ],
  },
  {
    framework: 'agents',
    program: 'openai-agents.mjs',
    client: 'echo',
    packages: [
      '@openai/agents@0',
      '@modelcontextprotocol/sdk@1',
      'zod@4',
      '@arizeai/openinference-instrumentation-openai-agents@0',
    ],
  },
];

let apps: FreshApps;
before(async () => {
  apps = await FreshApps.start();
});
after(() => apps[Symbol.asyncDispose]());

const folders = new Map<string, Promise<string>>();

/** The application of a framework with all peers, made once: a peer that is not loaded does nothing. */
function installed(framework: string, packages: readonly string[]): Promise<string> {
  const made =
    folders.get(framework) ??
    apps.install(`${framework}-peers`, ['--legacy-peer-deps', ...packages, ...PEER_PACKAGES]);
  folders.set(framework, made);
  return made;
}

for (const { framework, program, client, packages } of FRAMEWORKS) {
  for (const { peer, flags, newest, sendsSpans } of PEERS) {
    test(`${framework} beside ${peer}, loaded first or last: sums are those of the calls, caller and server are named`, async () => {
      const folder = await installed(framework, packages);
      const node = newest === true ? await node24() : undefined;
      for (const order of [
        [...flags, ...REGISTER],
        [...REGISTER, ...flags],
      ]) {
        const { code, stdout, stderr, sums } = await apps.run(folder, program, {
          node,
          flags: order,
          isStored: sendsSpans === true ? 'by service' : true,
          env: {
            FRAMEWORK: framework,
            DD_TRACE_STARTUP_LOGS: 'false',
            DD_INSTRUMENTATION_TELEMETRY_ENABLED: 'false',
          },
        });
        assert.deepEqual([code, stdout], [0, 'done\n'], stderr);
        assertStored(sums, 2, `${client} > echo`);
      }
    });
  }
}
