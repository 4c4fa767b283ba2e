/**
 * Two MCP servers and the spans they send: one that records by hand in its handler (`server.ts`), and one without a line
 * about telemetry, started with `--import mcp-observatory/register`.
 *
 * Run it: `npm run build && node dist/examples/mcp-server/main.js`. A receiver in this process stands for your OTLP back
 * end; give a server `MCP_OBSERVATORY_DATABASE_URL` and it writes to Postgres too.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

/** The part of an OTLP request that is printed. */
interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface OtlpSpan {
  readonly name: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

const spans: OtlpSpan[] = [];
const receiver = createServer(async (request, response) => {
  const { resourceSpans } = (await json(request)) as OtlpTraces;
  spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
  response.setHeader('content-type', 'application/json').end('{}');
});
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));

/** Starts a server, calls one of its tools, and prints the answer and the spans. */
async function show(title: string, args: readonly string[], tool: string, input: Record<string, unknown>) {
  const { port } = receiver.address() as AddressInfo;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...args],
    env: {
      ...getDefaultEnvironment(),
      OTEL_SERVICE_NAME: 'payments-mcp',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_METRICS_EXPORTER: 'none',
    },
  });
  const client = new Client({ name: 'example', version: '1.0.0' });
  await client.connect(transport);
  const { content } = await client.callTool({ name: tool, arguments: input });
  // The server sends its last spans before it ends.
  await client.close();
  console.log(`\n${title}\n  answer: ${(content as { text: string }[])[0]?.text}`);
  for (const { name, attributes } of spans.splice(0)) {
    const of = (key: string) =>
      Object.values(attributes.find((one) => one.key === key)?.value ?? {})[0] ?? '-';
    const risk = of('observatory.hallucination_risk_level');
    const template = of('observatory.prompt_template_id');
    console.log(`  span: ${name} (tool ${of('gen_ai.tool.name')}, template ${template}, risk ${risk})`);
  }
}

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
await show('Recorded in the handler', [path('server.js')], 'assess_invoice', {
  invoice: 'INV-92311',
  facts: 'Invoice INV-92311 over 4200 EUR is not approved.',
});
await show(
  'Without a line of code',
  ['--import', 'mcp-observatory/register', path('../servers/payments.js')],
  'payment_risk_check',
  { invoice_id: 'INV-92311' },
);
receiver.close();
