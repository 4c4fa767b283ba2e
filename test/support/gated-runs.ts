/** One run of each status, made by a real gate in front of a real MCP server and stored by the real exporter. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import * as protocol from '@modelcontextprotocol/sdk/shared/protocol.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { context, type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { PostgresReviewQueue } from '../../src/approvals/index.ts';
import { McpInstrumentation } from '../../src/instrumentation/mcp/index.ts';
import { gateClient, PolicyGate } from '../../src/policy/index.ts';
import { PostgresSpanExporter, type Queryable } from '../../src/postgres/index.ts';
import { ObservatorySpanProcessor } from '../../src/processor/index.ts';
import { exportSpans } from './export.ts';
import { TelemetryBench } from './telemetry-bench.ts';

const RESULT = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] } as const;
const POLICY = {
  version: 1,
  outputs: { bank: { report: { schema: RESULT } } },
  rules: [
    { id: 'calls', effect: 'allow', server: 'bank', tool: 'balance' },
    { id: 'fails', effect: 'allow', server: 'bank', tool: 'transfer' },
    { id: 'reports', effect: 'allow', server: 'bank', tool: 'report' },
    { id: 'pays', effect: 'require_approval', server: 'bank', tool: 'pay' },
  ],
};
/** What the server answers, by tool. A `report` without its total does not fit its type. */
const TOOLS: Readonly<Record<string, object>> = {
  balance: { content: [{ type: 'text', text: '12' }] },
  transfer: { content: [{ type: 'text', text: 'no such account' }], isError: true },
  report: { content: [{ type: 'text', text: '{}' }], structuredContent: {} },
  pay: { content: [{ type: 'text', text: 'paid' }] },
  wipe: { content: [{ type: 'text', text: 'gone' }] },
};

function takeStep(step: string, tracer: Tracer, root: Span): void {
  const [what, how] = step.split(' ');
  const operation = what ?? step;
  const attributes = { 'gen_ai.operation.name': operation, 'gen_ai.usage.input_tokens': 9 };
  const span = what === 'root' ? root : tracer.startSpan(operation, { attributes });
  if (how === 'fails') span.setStatus({ code: SpanStatusCode.ERROR, message: 'no answer' });
  if (how === 'lies')
    span.setAttribute('observatory.evidence_findings', '[{"kind":"tool_never_called","start":0,"end":4}]');
  if (how === 'is') span.setStatus({ code: SpanStatusCode.OK });
  if (span !== root) span.end();
}

/** Trace ids of the runs, by the names given to them. */
export type GatedRuns = Readonly<Record<string, string>>;

/**
 * Makes a run for each entry: a span around calls of these tools through the gate, one after the other. Other steps: a model
 * that answers (`chat`), untruly (`chat lies`) or not (`chat fails`), vectors (`embeddings`), and how the root ends (`root fails`,
 * `root is ok`). A run whose name begins with `running` is stored without its root span. With `meanwhile` calls wait for a
 * person, who acts in it.
 */
export async function makeGatedRuns(
  db: Queryable,
  runs: Readonly<Record<string, readonly string[]>>,
  meanwhile?: (queue: PostgresReviewQueue) => Promise<unknown>,
): Promise<GatedRuns> {
  await using bench = new TelemetryBench([new ObservatorySpanProcessor({ captureContent: true })]);
  const instrumentation = new McpInstrumentation({ captureContent: true });
  instrumentation.manuallyInstrument(protocol);
  try {
    const server = new Server({ name: 'bank', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: Object.keys(TOOLS).map((name) => ({
        name,
        description: name,
        inputSchema: { type: 'object' as const, properties: { account: {}, run: {} } },
        ...(name === 'report' && { outputSchema: RESULT as never }),
      })),
    }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => TOOLS[params.name] as never);
    const client = new Client({ name: 'teller', version: '1' });
    const [near, far] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(far), client.connect(near)]);
    const queue = new PostgresReviewQueue({ connection: db });
    using gate = new PolicyGate({
      policy: POLICY,
      approvals: { queue, waitMs: meanwhile === undefined ? 0 : 20_000 },
    });
    const gated = gateClient(client, gate, { server: 'bank' });
    const tracer = trace.getTracer('agent');
    const ids: Record<string, string> = {};
    const roots = new Map<string, Span>();
    for (const [name, tools] of Object.entries(runs)) {
      const root = tracer.startSpan(name);
      ids[name] = root.spanContext().traceId;
      roots.set(name, root);
      const args = { account: 'DE89', ...(meanwhile !== undefined && { run: name }) };
      const call = async () => {
        for (const step of tools) {
          if (step in TOOLS) await gated.callTool({ name: step, arguments: args }).catch(() => undefined);
          else takeStep(step, tracer, root);
          // Spans begin at whole milliseconds: of two in one, the second may seem to end first.
          await sleep(2);
        }
      };
      const called = context.with(trace.setSpan(context.active(), root), call);
      await Promise.all([called, meanwhile?.(queue)]);
      root.end();
    }
    await client.close();
    const isStored = (name: string, id: string) =>
      !name.startsWith('running') || id !== roots.get(name)?.spanContext().spanId;
    const spans = bench.spans.filter((span) => isStored(span.name, span.spanContext().spanId));
    await exportSpans(new PostgresSpanExporter({ connection: db }), spans);
    return ids;
  } finally {
    instrumentation.disable();
  }
}
