/**
 * Runs an example server: `node dist/examples/servers/main.js mcp-sharepoint` on stdio, or with `--http PORT` as
 * streamable HTTP on 127.0.0.1 (port 0 picks one; the address is printed on stderr).
 */
import { createServer as createHttpServer } from 'node:http';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { SHELVES } from './shelves.ts';
import { createServer, type Shelf } from './tools.ts';

const [id = '', flag, port = '0'] = process.argv.slice(2);
const shelf = Object.hasOwn(SHELVES, id) ? SHELVES[id as keyof typeof SHELVES] : undefined;
if (shelf === undefined || (flag !== undefined && flag !== '--http')) {
  process.stderr.write(`Usage: main.js <${Object.keys(SHELVES).join('|')}> [--http PORT]\n`);
  process.exitCode = 2;
} else if (flag === '--http') {
  serveHttp(shelf, Number(port));
} else {
  await createServer(shelf, tellRemoved).connect(new StdioServerTransport());
}

/** Stateless: each request gets its own server object. */
function serveHttp(which: Shelf, listenOn: number): void {
  const http = createHttpServer(async (request, response) => {
    const server = createServer(which, tellRemoved);
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    response.on('close', () => void server.close());
    // The SDK's class and its own interface disagree under exactOptionalPropertyTypes.
    await server.connect(transport as unknown as Transport);
    await transport.handleRequest(request, response);
  });
  http.listen(listenOn, '127.0.0.1', () => {
    const address = http.address();
    const bound = typeof address === 'object' && address !== null ? address.port : listenOn;
    process.stderr.write(`listening on http://127.0.0.1:${bound}/mcp\n`);
  });
}

function tellRemoved(key: string): void {
  process.stderr.write(`deleted ${key}\n`);
}
