/** The servers of a `PolicyHost`, over the official MCP SDK. */

import { ObservatoryError } from '../../base/index.ts';
import { isObject, type JsonObject } from '../../json/index.ts';
import type { ToolDefinition } from '../tool-definition.ts';

/** What the host needs of a server. */
export interface PolicyServer {
  /** Every tool the server lists now. */
  listTools(): Promise<readonly ToolDefinition[]>;
  /** Calls a tool; gives the `CallToolResult` as the server sent it. */
  callTool(tool: string, args: JsonObject): Promise<unknown>;
  close(): Promise<void>;
}

/** A server to start (stdio) or to reach (streamable HTTP). */
export type PolicyServerConfig =
  | {
      readonly command: string;
      readonly args?: readonly string[] | undefined;
      readonly env?: Readonly<Record<string, string>> | undefined;
      readonly cwd?: string | undefined;
    }
  | { readonly url: string; readonly headers?: Readonly<Record<string, string>> | undefined };

/** Pages that are read, and tools altogether. */
const MAX_PAGES = 100;
const MAX_TOOLS = 10_000;

/**
 * Connects to a server with `@modelcontextprotocol/sdk`.
 * @param timeoutMs longest wait for one answer, in milliseconds. @defaultValue 30000
 * @throws ObservatoryError `MISSING_PEER` when the SDK is not installed.
 */
export async function connectPolicyServer(
  config: PolicyServerConfig,
  timeoutMs = 30_000,
): Promise<PolicyServer> {
  const [{ Client }, types] = await importSdk();
  const client = new Client({ name: 'mcp-observatory-policy-host', version: '1.0.0' });
  await client.connect(await openTransport(config), { timeout: timeoutMs });
  return {
    // `request`, not `listTools` and `callTool`: those compile the server's schemas with an engine that has no bounds.
    async listTools() {
      const tools: ToolDefinition[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const params = cursor === undefined ? {} : { cursor };
        const result: unknown = await client.request({ method: 'tools/list', params }, types.ResultSchema, {
          timeout: timeoutMs,
        });
        if (!isObject(result) || !Array.isArray(result.tools)) break;
        tools.push(...(result.tools as ToolDefinition[]));
        if (tools.length > MAX_TOOLS) break;
        if (typeof result.nextCursor !== 'string') return tools;
        cursor = result.nextCursor;
      }
      throw new ObservatoryError(
        'INVALID_INPUT',
        'The server did not give a list of at most 10,000 tools that ends',
      );
    },
    callTool: (name, args) =>
      client.request({ method: 'tools/call', params: { name, arguments: args } }, types.ResultSchema, {
        timeout: timeoutMs,
      }),
    close: () => client.close(),
  };
}

async function openTransport(config: PolicyServerConfig) {
  if ('url' in config) {
    const { StreamableHTTPClientTransport } = await import(
      '@modelcontextprotocol/sdk/client/streamableHttp.js'
    );
    const transport = new StreamableHTTPClientTransport(new URL(config.url), {
      requestInit: { headers: { ...config.headers } },
    });
    // The SDK's class and its own interface disagree under exactOptionalPropertyTypes.
    return transport as unknown as import('@modelcontextprotocol/sdk/shared/transport.js').Transport;
  }
  const { StdioClientTransport, getDefaultEnvironment } = await import(
    '@modelcontextprotocol/sdk/client/stdio.js'
  );
  const { command, args = [], env = {}, cwd } = config;
  return new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
}

async function importSdk() {
  try {
    return await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
  } catch (cause) {
    throw new ObservatoryError(
      'MISSING_PEER',
      'Connecting needs the MCP SDK: npm install @modelcontextprotocol/sdk',
      { cause },
    );
  }
}
