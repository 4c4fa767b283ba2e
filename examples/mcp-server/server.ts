/**
 * An MCP server whose handler asks a model, and records that by an interceptor: prompt identity, cost, risk, governance.
 * Spans go where `MCP_OBSERVATORY_DATABASE_URL` or `OTEL_EXPORTER_OTLP_ENDPOINT` says. Stdout belongs to the protocol.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { instrument, instrumentMcpServer, startObservatory } from 'mcp-observatory';
import { z } from 'zod';

await startObservatory({ serviceName: 'payments-mcp' });
const interceptor = instrument({ serviceName: 'payments-mcp', requirePromptTemplate: 'block' });

const server = new McpServer({ name: 'payments', version: '1.0.0' });
// A span for each request, the parent of what its handler records.
instrumentMcpServer(server);

server.registerTool(
  'assess_invoice',
  {
    description: 'What a model thinks of paying an invoice',
    inputSchema: { invoice: z.string(), facts: z.string() },
    annotations: { readOnlyHint: true },
  },
  async ({ invoice, facts }) => {
    const answer = await interceptor.interceptModelCall({
      model: 'gpt-4o',
      toolName: 'assess_invoice',
      prompt: `Assess invoice ${invoice}. Facts: ${facts}`,
      retrievedContext: facts,
      promptTemplateId: 'payment-risk-v3',
      riskTier: 'high',
      call: askModel,
    });
    return { content: [{ type: 'text', text: answer }] };
  },
);

/** The place of your model client. With a client that is instrumented, the same span gets its real tokens and cost. */
async function askModel({ prompt }: { readonly prompt: string }): Promise<string> {
  return prompt.includes('not approved')
    ? 'The invoice is not approved. It needs human review.'
    : 'The invoice may be paid.';
}

await server.connect(new StdioServerTransport());
