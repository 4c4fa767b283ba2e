// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as v1Protocol from '@modelcontextprotocol/sdk/shared/protocol.js';
import { context, propagation } from '@opentelemetry/api';
import { type GovernanceFields, govern, type McpPropagation } from '../src/index.ts';
import { McpInstrumentation } from '../src/instrumentation/index.ts';
import { type OtlpReceiver, startOtlpReceiver } from './support/otlp-receiver.ts';
import { longTest } from './support/size.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';
import { waitUntil } from './support/wait-until.ts';

const SERVER = fileURLToPath(new URL('./support/governed-server-process.js', import.meta.url));
const FIELDS: GovernanceFields = {
  promptTemplateId: 'payment-risk-v3',
  riskTier: 'high',
  sessionId: 's1',
  gateBlocked: true,
};

let receiver: OtlpReceiver;
before(async () => {
  receiver = await startOtlpReceiver();
});
beforeEach(() => {
  receiver.spans.length = 0;
});
after(() => receiver[Symbol.asyncDispose]());

/** Calls the server's tool inside `govern()`, and gives the spans the server made of it and the baggage it was left. */
async function callGoverned(sides: { client?: McpPropagation; server?: McpPropagation }) {
  await using _bench = new TelemetryBench();
  const instrumentation = new McpInstrumentation({ propagate: sides.client });
  instrumentation.manuallyInstrument(v1Protocol);
  const client = new Client({ name: 'c', version: '1' });
  try {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [SERVER, ...(sides.server === undefined ? [] : [sides.server])],
      env: {
        ...(process.env as Record<string, string>),
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.baseUrl,
        OTEL_BSP_SCHEDULE_DELAY: '50',
      },
    });
    await client.connect(transport);
    const tenant = propagation.createBaggage({ tenant: { value: 'acme' } });
    const result = await context.with(propagation.setBaggage(context.active(), tenant), () =>
      govern(FIELDS, () => client.callTool({ name: 'ask' })),
    );
    const [content] = result.content as { text: string }[];
    const made = () => receiver.spans.filter(({ name }) => name === 'tools/call ask' || name === 'chat m');
    // Before the client is closed: it gives the server two seconds to end, which on a busy machine are few.
    await waitUntil(() => made().length === 2, 60_000);
    return { spans: made(), baggage: JSON.parse(content?.text ?? '') as string[] };
  } finally {
    await client.close();
    instrumentation.disable();
  }
}

const governed = (attributes: Readonly<Record<string, unknown>>) =>
  ['prompt_template_id', 'risk_tier', 'session_id'].map((column) => attributes[`observatory.${column}`]);

test("an MCP server in another process has the client's template id on its spans, where baggage may go", async () => {
  const { spans, baggage } = await callGoverned({});
  for (const { name, attributes } of spans) {
    assert.deepEqual(governed(attributes), ['payment-risk-v3', 'high', 's1'], name);
    assert.notEqual(
      attributes['observatory.gate_blocked'],
      true,
      'the outcome at the client is not recorded',
    );
  }
  assert.deepEqual(baggage, ['tenant'], 'what was taken is not left to be sent on');
});

longTest('where the client may send no baggage, nothing of it arrives', async () => {
  const { spans, baggage } = await callGoverned({ client: 'trace' });
  for (const { attributes } of spans)
    assert.deepEqual(governed(attributes), [undefined, undefined, undefined]);
  assert.deepEqual(baggage, []);
});

longTest('where the server takes none, it holds for nothing', async () => {
  const { spans, baggage } = await callGoverned({ client: 'all', server: 'trace' });
  for (const { attributes } of spans)
    assert.deepEqual(governed(attributes), [undefined, undefined, undefined]);
  assert.deepEqual(baggage, ['tenant']);
});
