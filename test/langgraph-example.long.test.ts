/** The example graph and `PolicyHost` must give the same results for the same questions. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import {
  askResultToWire,
  connectPolicyServer,
  PolicyGate,
  PolicyHost,
  type PolicyServer,
} from '../src/policy/index.ts';
import { bundle } from './support/bundle.ts';
import {
  ALLOWLIST,
  call,
  FETCH,
  fromRoot,
  type ServedMcps,
  script,
  serveShelves,
} from './support/example-servers.ts';
import { ScriptedProvider } from './support/scripted-provider.ts';
import { longTest } from './support/size.ts';

// The example imports the package by its name.
bundle();
const { singleStepGraph } = await import('../examples/langgraph-single-step/graph.ts');

let shelves: ServedMcps;
let servers: Record<string, PolicyServer>;
before(async () => {
  shelves = await serveShelves();
  const connected = Object.entries(shelves.servers).map(
    async ([id, config]) => [id, await connectPolicyServer(config)] as const,
  );
  servers = Object.fromEntries(await Promise.all(connected));
});
after(async () => {
  await Promise.all(Object.values(servers).map((server) => server.close()));
  await shelves[Symbol.asyncDispose]();
});

const summary = (evidence: string) => ({
  type: 'summary',
  bullets: [{ claim: 'Never log secrets', evidence }],
  risks: [],
  recommendations: [],
});

const CASES: readonly [name: string, type: string, query: string, ...lines: (string | object)[]][] = [
  ['a result', 'tool_result', 'Show doc sp-001', FETCH],
  ['a summary', 'tool_result_with_summary', 'Summarize doc sp-001', FETCH, summary('Never log secrets')],
  ['a made-up quote', 'tool_result', 'Summarize doc sp-001', FETCH, summary('Always log secrets')],
  ['a summary in prose', 'tool_result', 'Give me a summary of doc sp-001', FETCH, 'It says a lot.'],
  ['a blocked question', 'blocked', 'Hack into the SharePoint server', FETCH],
  ['a plan in prose', 'blocked', 'Show doc sp-001', 'I would fetch it.'],
  [
    'a final answer',
    'final_answer',
    'Show it',
    { type: 'final_answer', answer: 'Which one?', needs_more_info: true },
  ],
  [
    'a tool that is not allowed',
    'blocked',
    'Show doc sp-001',
    call('mcp-sharepoint', 'delete_sharepoint_doc', { doc_id: 'sp-001' }),
  ],
  ['a server that is not there', 'blocked', 'Show doc sp-001', call('elsewhere', 'fetch', {})],
  [
    'arguments that do not fit',
    'blocked',
    'Show doc sp-001',
    call('mcp-sharepoint', 'fetch_sharepoint_doc', { doc_id: 1 }),
  ],
];

for (const [name, type, query, ...lines] of CASES) {
  test(`graph and host agree: ${name}`, async () => {
    using gate = new PolicyGate({ policy: ALLOWLIST });
    const planner = script(...lines);
    const { outcome } = await singleStepGraph({ gate, planner, servers }).invoke({ query });
    using hostGate = new PolicyGate({ policy: ALLOWLIST });
    const hostPlanner = script(...lines);
    const host = await PolicyHost.open({
      gate: hostGate,
      planner: hostPlanner,
      servers,
      audit: false,
      summarize: false,
    });
    const expected = await host.askOnce(query);
    assert.equal(expected.type, type);
    assert.deepEqual(withoutTimes(askResultToWire(outcome)), withoutTimes(askResultToWire(expected)));
    assert.deepEqual(planner.asked, hostPlanner.asked, 'both ask the planner the same');
  });
}

longTest('the example program answers over real servers and a model at the wire', async () => {
  await using model = await ScriptedProvider.start([{ text: JSON.stringify(FETCH) }]);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [fromRoot('dist/examples/langgraph-single-step/main.js'), 'Show doc sp-001'],
    { env: { ...process.env, OPENAI_BASE_URL: model.baseUrl('openai'), OPENAI_API_KEY: '' } },
  );
  const result = JSON.parse(stdout) as { type: string; tool: string };
  assert.deepEqual([result.type, result.tool], ['tool_result', 'fetch_sharepoint_doc']);
});

/** Decisions tell how long they took and when. */
function withoutTimes(wire: Readonly<Record<string, unknown>>) {
  const { decision, ...rest } = wire;
  if (decision === undefined) return rest;
  const { latency_us: _latency, ...facts } = decision as Record<string, unknown>;
  return { ...rest, decision: facts };
}
