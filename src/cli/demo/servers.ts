import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { ObservatoryError, packageFile } from '../../base/index.ts';
import { instrumentMcpClient } from '../../instrumentation/index.ts';

const DOCUMENTS = fileURLToPath(packageFile('examples/documents/'));
const PAYMENTS = fileURLToPath(packageFile('dist/examples/servers/payments.js'));
const FILESYSTEM_PACKAGE = '@modelcontextprotocol/server-filesystem';

/** The two MCP servers of the demo, each a stdio process. */
export interface DemoServers extends AsyncDisposable {
  /** Tools the model may call: all of our server, and the read-only ones of the file server. */
  readonly tools: readonly Tool[];
  callTool(name: string, args: Record<string, unknown>): Promise<CallToolResult>;
}

/** Starts this repository's payments server and the file server of npm, and lists their tools. */
export async function startDemoServers(): Promise<DemoServers> {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js').catch(missing);
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js').catch(missing);
  const clients: Client[] = [];
  const owners = new Map<string, Client>();
  const tools: Tool[] = [];

  const connect = async (args: string[], offered: (tool: Tool) => boolean) => {
    const client = new Client({ name: 'mcp-observatory-demo', version: '1.0.0' });
    // By hand, because this program was not started with --import mcp-observatory/register.
    instrumentMcpClient(client);
    // A server's stderr is its log, which the demo does not need: errors arrive as errors.
    const transport = new StdioClientTransport({
      command: process.execPath,
      args,
      cwd: DOCUMENTS,
      stderr: 'ignore',
    });
    await client.connect(transport);
    clients.push(client);
    const listed = await client.listTools();
    for (const tool of listed.tools.filter(offered)) {
      owners.set(tool.name, client);
      tools.push(tool);
    }
  };
  const close = async () => {
    await Promise.all(clients.map((client) => client.close()));
  };

  try {
    await connect([PAYMENTS], () => true);
    await connect([fileServerEntry(), DOCUMENTS], (tool) => tool.annotations?.readOnlyHint === true);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    tools,
    callTool: async (name, args) => {
      const owner = owners.get(name);
      if (owner === undefined)
        return { content: [{ type: 'text', text: `There is no tool ${name}.` }], isError: true };
      return (await owner.callTool({ name, arguments: args })) as CallToolResult;
    },
    [Symbol.asyncDispose]: close,
  };
}

function fileServerEntry(): string {
  const require = createRequire(import.meta.url);
  try {
    const manifest = require.resolve(`${FILESYSTEM_PACKAGE}/package.json`);
    const { bin } = require(manifest) as { bin: Record<string, string> };
    return join(dirname(manifest), Object.values(bin)[0] as string);
  } catch (cause) {
    return missing(cause);
  }
}

function missing(cause: unknown): never {
  throw new ObservatoryError(
    'MISSING_PEER',
    `The demo needs packages that are not installed: npm install openai @modelcontextprotocol/sdk zod ${FILESYSTEM_PACKAGE}`,
    { cause },
  );
}
