/** Streamable HTTP MCP servers in this process, on the official SDK, one server object for each request. */
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { listen } from './http-server.ts';

/** A server that is reached at `url`. */
export interface ServedMcp extends AsyncDisposable {
  readonly url: string;
}

export interface HttpMcpServer extends ServedMcp {
  /** `_meta` of each tool call, as it came. */
  readonly metas: unknown[];
}

/** @param tools how many tools it has: `add`, `refuse`, and others that are never called. */
export async function startHttpMcpServer(tools = 2): Promise<HttpMcpServer> {
  const metas: unknown[] = [];
  const served = await serveMcp(() => {
    const server = new McpServer({ name: 'http', version: '1.0.0' });
    server.registerTool(
      'add',
      { description: 'Adds two numbers', inputSchema: { a: z.number(), b: z.number() } },
      ({ a, b }, extra) => {
        metas.push(extra._meta);
        return { content: [{ type: 'text', text: String(a + b) }] };
      },
    );
    server.registerTool('refuse', { description: 'Always fails' }, () => ({
      content: [{ type: 'text', text: 'private detail: 4711' }],
      isError: true,
    }));
    for (let index = 2; index < tools; index += 1) {
      const inputSchema = { value: z.string(), count: z.number().optional() };
      server.registerTool(`tool_${index}`, { description: `Number ${index}`, inputSchema }, () => ({
        content: [],
      }));
    }
    return server;
  });
  return { ...served, metas };
}

/** @param make gives the server of one request. */
export async function serveMcp(make: () => McpServer): Promise<ServedMcp> {
  const http = createServer((request, response) => {
    const server = make();
    const transport = new StreamableHTTPServerTransport({});
    response.on('close', () => void server.close());
    // The transport's types and the SDK's own interface disagree under exactOptionalPropertyTypes.
    server
      .connect(transport as unknown as Parameters<typeof server.connect>[0])
      .then(() => transport.handleRequest(request, response))
      .catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  const listening = await listen(http);
  return { ...listening, url: `${listening.origin}/mcp` };
}
