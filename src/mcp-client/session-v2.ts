import type { Client } from '@modelcontextprotocol/client';
import { importPeer, loadPeer, VERSION } from '../base/index.ts';
import { type JsonObject, withIntegers } from '../json/index.ts';
import {
  answeredRequests,
  type McpSession,
  NO_SDK_TIMEOUT_MS,
  rawRequest,
  readCapabilities,
  requestToolPage,
  type SessionOptions,
  type Transport,
  withRawResults,
} from './session.ts';

type SdkTransport = Parameters<Client['connect']>[0];

/** An older stdio server may not answer the probe of the new protocol; `initialize` follows after this time. */
const PROBE_TIMEOUT_MS = 10_000;

/** Connects with `@modelcontextprotocol/client`, by the 2026-07-28 protocol if the server speaks it, else by the older one. */
export async function openV2(transport: Transport, options: SessionOptions): Promise<McpSession> {
  const { Client, ProtocolError, SdkError } = await loadPeer(
    '@modelcontextprotocol/client',
    () => importPeer<typeof import('@modelcontextprotocol/client')>('@modelcontextprotocol/client'),
    { neededFor: 'This MCP server' },
  );
  const client = new Client(
    { name: 'mcp-observatory', version: VERSION },
    {
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_TIMEOUT_MS } },
      capabilities: readCapabilities(options.handlers),
      listChanged: {
        tools: { autoRefresh: false, debounceMs: 0, onChanged: () => options.onToolsChanged() },
      },
    },
  );
  for (const { method, answer } of answeredRequests(options)) {
    client.setRequestHandler(method as 'roots/list', ({ params }, { mcpReq: { signal } }) =>
      answer(params, signal),
    );
  }
  client.onclose = options.onClose;
  client.onerror = options.onError;
  await client.connect(transport as SdkTransport, { signal: options.signal, timeout: NO_SDK_TIMEOUT_MS });

  // It is needed because it mirrors arguments into headers (SEP-2243).
  const rawClient = withRawResults(client);
  return {
    sdk: 'v2',
    protocolVersion: client.getNegotiatedProtocolVersion(),
    serverInfo: client.getServerVersion() as JsonObject | undefined,
    capabilities: (client.getServerCapabilities() ?? {}) as JsonObject,
    instructions: client.getInstructions(),
    sessionId: () => transport.sessionId,
    listTools: (cursor, { signal }) => requestToolPage(client, cursor, signal),
    callTool: async (tool, args, meta, controls) =>
      (await rawClient.callTool(
        {
          name: tool.name,
          arguments: { ...withIntegers(args, tool.inputSchema) },
          ...(meta && { _meta: meta as never }),
        },
        // The input schema says which arguments to mirror. The output schema is left out: it is checked in call.ts, where
        // a mismatch is an outcome.
        {
          signal: controls.signal,
          timeout: NO_SDK_TIMEOUT_MS,
          ...(controls.onProgress && { onprogress: controls.onProgress }),
          toolDefinition: { name: tool.name, inputSchema: tool.inputSchema as never },
        },
      )) as JsonObject,
    readResource: (uri, controls) => rawRequest(client, 'resources/read', { uri }, controls),
    protocolError: (error) =>
      error instanceof ProtocolError
        ? { code: error.code, message: error.message, data: error.data }
        : undefined,
    isInvalidResult: (error) => error instanceof SdkError && error.code === 'INVALID_RESULT',
    close: () => client.close(),
  };
}
