import type { McpServer } from '@modelcontextprotocol/server';
import { errorMessage, VERSION, withoutTracing } from '../../base/index.ts';
import type { Database } from '../../postgres/index.ts';
import { answerTool, STORE_TOOLS } from './tools.ts';

/** `@modelcontextprotocol/server`, which is optional. */
export type McpSdk = Pick<
  typeof import('@modelcontextprotocol/server'),
  'McpServer' | 'createMcpHandler' | 'fromJsonSchema'
>;

/** `@modelcontextprotocol/server/stdio`. */
export type McpStdioSdk = Pick<typeof import('@modelcontextprotocol/server/stdio'), 'serveStdio'>;

/** The store as an MCP server over Streamable HTTP, in both protocols: with and without sessions. */
export interface StoreMcp {
  /** Answers one request. Never traced: its own calls are no runs of the user's. */
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

const INSTRUCTIONS =
  'Read-only access to the traces of mcp-observatory. To find why something failed: list_runs with "status:failed", show_run with an id, show_span for the details of one span.';

export function storeMcp(sdk: McpSdk, db: Database): StoreMcp {
  const handler = sdk.createMcpHandler(() => storeServer(sdk, db));
  return {
    fetch: (request) => withoutTracing(() => handler.fetch(request)),
    close: () => handler.close(),
  };
}

/** Serves the store over stdin and stdout until stdin ends. */
export function serveStoreOverStdio(sdk: McpSdk, { serveStdio }: McpStdioSdk, db: Database): void {
  withoutTracing(() => serveStdio(() => storeServer(sdk, db)));
}

function storeServer(sdk: McpSdk, db: Database): McpServer {
  const server = new sdk.McpServer(
    { name: 'mcp-observatory', version: VERSION },
    { instructions: INSTRUCTIONS },
  );
  for (const tool of STORE_TOOLS) {
    const { name, title, description, inputSchema } = tool;
    server.registerTool(
      name,
      {
        title,
        description,
        inputSchema: sdk.fromJsonSchema<Record<string, unknown>>(inputSchema),
        annotations: { readOnlyHint: true, openWorldHint: false },
      },
      async (args) => {
        try {
          const text = await withoutTracing(() => answerTool(tool, db, args));
          return { content: [{ type: 'text', text }] };
        } catch (error) {
          return { content: [{ type: 'text', text: errorMessage(error) }], isError: true };
        }
      },
    );
  }
  return server;
}
