/** `mcpGhost`, `gateClient` and `PolicyHost` make the same calls through the same gate: field by field the same traces. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { AuditLog, gateClient, PolicyGate, PolicyHost } from '../src/policy/index.ts';
import { type AuditRecord, auditRecords } from './support/audit-records.ts';
import { call, script, stdio } from './support/example-servers.ts';
import { tryGhost } from './support/ghost.ts';
import { Telemetry } from './support/telemetry.ts';
import { tempDir } from './support/temp-dir.ts';

const SERVER = 'mcp-sharepoint';
const ALLOWED = { tool: 'fetch_sharepoint_doc', args: { doc_id: 'sp-001' } };
const DENIED = { tool: 'delete_sharepoint_doc', args: { doc_id: 'sp-001' } };
const CALLER = 'alice';
const QUERY = 'Fetch SharePoint doc sp-001, then delete it';

let telemetry: Telemetry;
before(() => {
  telemetry = new Telemetry();
});
after(() => telemetry.shutdown());

interface Trail {
  readonly records: readonly AuditRecord[];
  readonly spans: readonly ReadableSpan[];
}

/** Runs both calls in one way, with a gate and an audit folder of its own. */
async function trailOf(run: (gate: PolicyGate, dir: string) => Promise<void>): Promise<Trail> {
  telemetry.reset();
  const dir = tempDir();
  using gate = new PolicyGate({
    policy: {
      version: 1,
      rules: [{ id: 'read', effect: 'allow', server: SERVER, tool: ALLOWED.tool, risk_tier: 'low' }],
    },
  });
  await run(gate, dir);
  const spans = telemetry.spans.filter((span) => span.name.startsWith('policy_gate'));
  return { records: auditRecords(dir), spans };
}

const WAYS: Readonly<Record<string, (gate: PolicyGate, dir: string) => Promise<void>>> = {
  mcpGhost: async (gate, dir) => {
    const turn = ({ tool, args }: typeof ALLOWED) => ({
      calls: [{ name: `${SERVER}__${tool}`, arguments: args }],
    });
    const { result } = await tryGhost('openai', [turn(ALLOWED), turn(DENIED), { text: 'done' }], {
      serverConfig: { mcpServers: { [SERVER]: stdio(SERVER) } },
      userPrompt: QUERY,
      gate,
      audit: dir,
      caller: CALLER,
    });
    assert.deepEqual(
      result.toolChain.map(({ success }) => success),
      [true, false],
    );
  },
  gateClient: async (gate, dir) => {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StdioClientTransport(stdio(SERVER)));
    using audit = new AuditLog({ dir });
    const run = audit.startRun();
    const context = () => ({ caller: CALLER, userRequest: QUERY });
    const gated = gateClient(client, gate, { server: SERVER, audit: run, context });
    await gated.callTool({ name: ALLOWED.tool, arguments: ALLOWED.args });
    await assert.rejects(gated.callTool({ name: DENIED.tool, arguments: DENIED.args }));
    run.finish();
    await client.close();
  },
  PolicyHost: async (gate, dir) => {
    const plans = [ALLOWED, DENIED].map(({ tool, args }) => call(SERVER, tool, args));
    const servers = { [SERVER]: stdio(SERVER) };
    await using host = await PolicyHost.open({ gate, planner: script(...plans), servers, audit: dir });
    assert.equal((await host.askOnce(QUERY, { caller: CALLER })).type, 'tool_result');
    assert.equal((await host.askOnce(QUERY, { caller: CALLER })).type, 'blocked');
  },
};

/** The records of calls, without what differs from run to run. */
function callRecords(records: readonly AuditRecord[]): object[] {
  return records
    .filter(({ event }) => String(event).startsWith('call_'))
    .map(({ run_id, time, seq, prev, hash, duration_ms, latency_us, ...rest }) => {
      assert.match(`${run_id} ${time} ${prev} ${hash}`, /^\d+-\w+ \S+Z [0-9a-f]{64} [0-9a-f]{64}$/);
      assert.equal(typeof seq, 'number');
      assert.equal(typeof latency_us, rest.event === 'call_decided' ? 'number' : 'undefined');
      assert.equal(typeof duration_ms, rest.event === 'call_finished' ? 'number' : 'undefined');
      return rest;
    });
}

function spanFields({ name, kind, status, attributes, events, instrumentationScope }: ReadableSpan): object {
  return {
    name,
    kind,
    status,
    attributes,
    scope: instrumentationScope.name,
    events: events.map((event) => ({
      name: event.name,
      attributes:
        event.name === 'observatory.audit_head' ? Object.keys(event.attributes ?? {}) : event.attributes,
    })),
  };
}

test('an allowed and a denied call leave the same audit records and spans in all three ways', async () => {
  const trails: Record<string, { records: object[]; spans: object[] }> = {};
  for (const [way, run] of Object.entries(WAYS)) {
    const { records, spans } = await trailOf(run);
    trails[way] = { records: callRecords(records), spans: spans.map(spanFields) };
  }
  const { gateClient: expected, ...others } = trails;
  for (const [way, trail] of Object.entries(others)) assert.deepEqual(trail, expected, way);

  const hash = 'a SHA-256';
  const shown = JSON.parse(
    JSON.stringify(expected, (_key, value) => (/^[0-9a-f]{64}$/.test(String(value)) ? hash : value)),
  );
  const decided = {
    event: 'call_decided',
    version: 1,
    server: SERVER,
    caller: CALLER,
    enforcement: 'enforced',
    gate: 'G3',
    policy_hash: hash,
    tool_hash: hash,
    args_digest: hash,
  };
  const { tool } = ALLOWED;
  const about = { version: 1, server: SERVER, tool };
  assert.deepEqual(shown.records, [
    {
      ...decided,
      tool,
      decision: 'allow',
      would_block: false,
      reason_code: 'allowed',
      message: 'Rule read allows it',
      rule_ids: ['read'],
    },
    { ...about, event: 'call_started', tool_hash: hash, args_digest: hash },
    { ...about, event: 'call_finished', outcome: 'accepted', reason_code: 'output_accepted' },
    {
      ...decided,
      tool: DENIED.tool,
      decision: 'deny',
      would_block: true,
      reason_code: 'not_allowlisted',
      message: `No rule allows ${SERVER}/${DENIED.tool}`,
      rule_ids: [],
    },
  ]);

  const attributes = {
    'observatory.policy_enforcement': 'enforced',
    'observatory.policy_hash': hash,
    'observatory.tool_hash': hash,
    'observatory.tool_args_hash': hash,
  };
  const gateEvent = (gate: string, outcome: string, reason: string) => ({
    name: 'observatory.policy_gate',
    attributes: {
      'observatory.policy_gate': gate,
      'observatory.policy_outcome': outcome,
      'observatory.policy_reason': reason,
    },
  });
  const head = {
    name: 'observatory.audit_head',
    attributes: ['observatory.audit_run', 'observatory.audit_head'],
  };
  const span = { kind: 0, scope: 'mcp-observatory/policy' };
  assert.deepEqual(shown.spans, [
    {
      ...span,
      name: `policy_gate ${tool}`,
      status: { code: 0 },
      attributes: {
        ...attributes,
        'gen_ai.tool.name': tool,
        'observatory.policy_decision': 'allow',
        'observatory.policy_reason': 'allowed',
        'observatory.policy_rule_ids': ['read'],
        'observatory.gate_blocked': false,
        'observatory.risk_tier': 'low',
      },
      events: [gateEvent('G3', 'pass', 'allowed'), head, gateEvent('G4', 'pass', 'output_accepted')],
    },
    {
      ...span,
      name: `policy_gate ${DENIED.tool}`,
      status: { code: 2 },
      attributes: {
        ...attributes,
        'gen_ai.tool.name': DENIED.tool,
        'observatory.policy_decision': 'deny',
        'observatory.policy_reason': 'not_allowlisted',
        'observatory.policy_rule_ids': [],
        'observatory.gate_blocked': true,
        'observatory.fallback_used': true,
        'observatory.fallback_type': 'template',
        'observatory.fallback_reason': 'policy_violation',
        'error.type': 'PolicyDeniedError',
      },
      events: [gateEvent('G3', 'stop', 'not_allowlisted'), head],
    },
  ]);
});

test('each run is opened and finished, and its calls carry its id', async () => {
  const ghost = await trailOf(WAYS.mcpGhost ?? assert.fail());
  const ids = new Set(ghost.records.map(({ run_id }) => run_id));
  assert.equal(ids.size, 1);
  assert.deepEqual(
    ghost.records.map(({ event }) => event),
    ['run_started', 'call_decided', 'call_started', 'call_finished', 'call_decided', 'run_finished'],
  );
  const [started] = ghost.records;
  assert.deepEqual([started?.query_chars, started?.caller], [QUERY.length, CALLER]);
  assert.equal(ghost.records.at(-1)?.result, 'completed');
  const runs = ghost.spans.map(
    ({ events }) => events.find(({ name }) => name === 'observatory.audit_head')?.attributes,
  );
  assert.deepEqual(
    runs.map((attributes) => attributes?.['observatory.audit_run']),
    [...ids, ...ids],
  );
});
