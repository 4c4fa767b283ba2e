/**
 * A stdio MCP server in its own process. Its tool calls a model, so that there are spans below the server's too.
 * Argument: the instrumentation's `propagate` option; without it, the default. OTEL_EXPORTER_OTLP_ENDPOINT says where
 * spans go.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import * as v1Protocol from '@modelcontextprotocol/sdk/shared/protocol.js';
import { propagation } from '@opentelemetry/api';
import { instrument, type McpPropagation, startObservatory } from 'mcp-observatory';
import { McpInstrumentation } from 'mcp-observatory/instrumentation';

const observatory = await startObservatory({ serviceName: 'governed-server' });
new McpInstrumentation({ propagate: process.argv[2] as McpPropagation | undefined }).manuallyInstrument(
  v1Protocol,
);
const interceptor = instrument({ serviceName: 'governed-server' });
const server = new McpServer({ name: 'governed', version: '1.0.0' });
server.registerTool('ask', { description: 'Asks a model' }, async () => {
  await interceptor.interceptModelCall({ model: 'm', prompt: 'p', response: 'r' });
  const left = propagation.getActiveBaggage()?.getAllEntries() ?? [];
  return { content: [{ type: 'text', text: JSON.stringify(left.map(([key]) => key)) }] };
});
process.stdin.once('end', () => {
  void observatory.shutdown().then(() => process.exit());
});
await server.connect(new StdioServerTransport());
