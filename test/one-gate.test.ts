/** `mcpGhost`, `gateClient` and `PolicyHost` make the same calls through the same gate: field by field the same traces. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { z } from 'zod';
import { AuditLog, gateClient, PolicyDeniedError, PolicyGate, PolicyHost } from '../src/policy/index.ts';
import { type AuditRecord, auditRecords } from './support/audit-records.ts';
import { call, script, serveShelf, stdio } from './support/example-servers.ts';
import { tryGhost } from './support/ghost.ts';
import { serveMcp } from './support/http-mcp-server.ts';

import { sized } from './support/size.ts';
import { Telemetry } from './support/telemetry.ts';
import { tempDir } from './support/temp-dir.ts';

const SERVER = 'mcp-sharepoint';
const ALLOWED = { tool: 'fetch_sharepoint_doc', args: { doc_id: 'sp-001' } };
const DENIED = { tool: 'delete_sharepoint_doc', args: { doc_id: 'sp-001' } };
/** Its calls fail. */
const ROGUE = 'rogue';
const CALLER = 'alice';
const QUERY = 'Fetch SharePoint doc sp-001, then delete it';

let telemetry: Telemetry;
before(() => {
  telemetry = new Telemetry();
});
after(() => telemetry.shutdown());

/** Calls of one server, and the policy they meet. */
interface Scene {
  readonly server: string;
  readonly entry: { readonly command: string; readonly args: string[] } | { readonly url: string };
  readonly policy: object;
  readonly calls: readonly { readonly tool: string; readonly args: Readonly<Record<string, unknown>> }[];
}

const shelf = await serveShelf(SERVER);
after(() => shelf[Symbol.asyncDispose]());
const EXAMPLE: Scene = {
  server: SERVER,
  entry: sized<Scene['entry']>({ url: shelf.url }, stdio(SERVER)),
  policy: {
    version: 1,
    rules: [{ id: 'read', effect: 'allow', server: SERVER, tool: ALLOWED.tool, risk_tier: 'low' }],
  },
  calls: [ALLOWED, DENIED],
};

interface Trail {
  readonly records: readonly AuditRecord[];
  readonly spans: readonly ReadableSpan[];
}

type Way = (scene: Scene, gate: PolicyGate, dir: string) => Promise<void>;

/** Makes the calls in one way, with a gate and an audit folder of its own. */
async function trailOf(way: Way, scene: Scene): Promise<Trail> {
  telemetry.reset();
  const dir = tempDir();
  using gate = new PolicyGate({ policy: scene.policy });
  await way(scene, gate, dir);
  const spans = telemetry.spans.filter((span) => span.name.startsWith('policy_gate'));
  return { records: auditRecords(dir), spans };
}

const WAYS = {
  mcpGhost: async ({ server, entry, calls }, gate, dir) => {
    const turns = calls.map(({ tool, args }) => ({
      calls: [{ name: `${server}__${tool}`, arguments: args }],
    }));
    const { result } = await tryGhost('openai', [...turns, { text: 'done' }], {
      serverConfig: { mcpServers: { [server]: entry } },
      userPrompt: QUERY,
      gate,
      audit: dir,
      caller: CALLER,
    });
    assert.equal(result.toolChain.length, calls.length);
  },
  gateClient: async ({ server, entry, calls }, gate, dir) => {
    const client = new Client({ name: 'test', version: '1' });
    const transport =
      'url' in entry
        ? new StreamableHTTPClientTransport(new URL(entry.url))
        : new StdioClientTransport(entry);
    // The SDK's class and its own interface disagree under exactOptionalPropertyTypes.
    await client.connect(transport as Transport);
    using audit = new AuditLog({ dir });
    const run = audit.startRun();
    const context = () => ({ caller: CALLER, userRequest: QUERY });
    const gated = gateClient(client, gate, { server, audit: run, context });
    for (const { tool, args } of calls) {
      await gated.callTool({ name: tool, arguments: args }).catch((error: unknown) => {
        assert.ok(error instanceof PolicyDeniedError || server === ROGUE);
      });
    }
    run.finish();
    await client.close();
  },
  PolicyHost: async ({ server, entry, calls }, gate, dir) => {
    const planner = script(...calls.map(({ tool, args }) => call(server, tool, args)));
    await using host = await PolicyHost.open({ gate, planner, servers: { [server]: entry }, audit: dir });
    for (const _ of calls)
      await host.askOnce(QUERY, { caller: CALLER }).catch((error: unknown) => {
        if (server !== ROGUE) throw error;
      });
  },
} as const satisfies Readonly<Record<string, Way>>;

/** Makes the calls in all three ways. @returns what all of them left, without what differs from run to run. */
async function sameTrail(scene: Scene): Promise<{ records: object[]; spans: object[] }> {
  const trails: { records: object[]; spans: object[] }[] = [];
  for (const [name, way] of Object.entries(WAYS)) {
    const { records, spans } = await trailOf(way, scene);
    const trail = { records: callRecords(records), spans: spans.map(spanFields) };
    trails.push(trail);
    assert.deepEqual(trail, trails[0], name);
  }
  return trails[0] ?? assert.fail();
}

/** The records of calls, without what differs from run to run. */
function callRecords(records: readonly AuditRecord[]): object[] {
  return records
    .filter(({ event }) => String(event).startsWith('call_'))
    .map(({ run_id, time, seq, prev, hash, decided, duration_ms, latency_us, ...rest }) => {
      assert.match(`${run_id} ${time} ${prev} ${hash}`, /^\d+-\w+ \S+Z [0-9a-f]{64} [0-9a-f]{64}$/);
      assert.equal(typeof seq, 'number');
      assert.equal(typeof latency_us, rest.event === 'call_decided' ? 'number' : 'undefined');
      assert.equal(
        typeof decided,
        /^call_(?:started|finished)$/.test(String(rest.event)) ? 'number' : 'undefined',
      );
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
  const expected = await sameTrail(EXAMPLE);
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
    'observatory.mcp_server': SERVER,
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
  const ghost = await trailOf(WAYS.mcpGhost, EXAMPLE);
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

test('a call that a server refuses has failed, one that it swallows has an unknown outcome, in all three ways', async () => {
  const scene = {
    server: ROGUE,
    entry: {
      command: process.execPath,
      args: [fileURLToPath(new URL('fixtures/rogue-server.js', import.meta.url))],
    },
    policy: { [ROGUE]: ['refuse', 'die'] },
    calls: ['refuse', 'die'].map((tool) => ({ tool, args: {} })),
  };
  for (const [name, way] of Object.entries(WAYS)) {
    const { records } = await trailOf(way, scene);
    const ends = records.filter(({ event }) => event === 'call_finished');
    assert.deepEqual(
      ends.map(({ tool, outcome }) => `${tool} ${outcome}`),
      ['refuse failed', 'die unknown'],
      name,
    );
  }
});

test('errors, results that break their type and untyped tools leave the same records and spans too', async () => {
  await using served = await serveMcp(() => {
    const server = new McpServer({ name: 'mail', version: '1.0.0' });
    const said = { content: [{ type: 'text' as const, text: 'sent' }] };
    server.registerTool('send', { description: 'Sends' }, () => said);
    server.registerTool('fail', { description: 'Fails' }, () => ({ ...said, isError: true }));
    const typed = { description: 'Counts', outputSchema: { count: z.number() } };
    server.registerTool('count', typed, () => ({ ...said, structuredContent: { count: 1 } }));
    return server;
  });
  const { records, spans } = await sameTrail({
    server: 'mail',
    entry: { url: served.url },
    policy: { mail: ['send', 'fail', 'count'] },
    calls: ['send', 'fail', 'count', 'made_up'].map((tool) => ({ tool, args: {} })),
  });
  const ends = (records as AuditRecord[]).map(({ tool, event, outcome, reason_code }) => [
    tool,
    outcome ?? event,
    reason_code,
  ]);
  assert.deepEqual(
    ends.filter(([, event]) => event !== 'call_started'),
    [
      ['send', 'call_decided', 'allowed'],
      ['send', 'accepted', 'output_accepted'],
      ['fail', 'call_decided', 'allowed'],
      ['fail', 'tool_error', 'output_is_error'],
      ['count', 'call_decided', 'allowed'],
      ['count', 'untrusted', 'output_contradicts_text'],
      ['made_up', 'call_decided', 'tool_unknown'],
    ],
  );
  const blocked = (spans as ReadableSpan[]).map(({ name, attributes }) => [
    name,
    attributes['observatory.gate_blocked'],
    attributes['observatory.policy_reason'],
  ]);
  assert.deepEqual(blocked, [
    ['policy_gate send', false, 'allowed'],
    ['policy_gate fail', false, 'allowed'],
    ['policy_gate count', false, 'allowed'],
    ['policy_gate made_up', true, 'tool_unknown'],
  ]);
});
