import type { Client, StandardSchemaV1 } from '@modelcontextprotocol/client';
import { loadPeer, VERSION } from '../base/index.ts';
import type { JsonObject } from '../json/index.ts';
import {
  capabilitiesOf,
  type McpSession,
  NO_SDK_TIMEOUT_MS,
  type RequestControls,
  type SessionOptions,
  type Transport,
} from './session.ts';

type SdkTransport = Parameters<Client['connect']>[0];

/** An older stdio server may stay silent on the first question of the new protocol; then `initialize` follows. */
const PROBE_TIMEOUT_MS = 10_000;

/** Accepts any result, so that one odd tool does not cost the whole list. */
const ANY_RESULT: StandardSchemaV1<unknown, JsonObject> = {
  '~standard': {
    version: 1,
    vendor: 'mcp-observatory',
    validate: (value) => ({ value: value as JsonObject }),
  },
};

/** Connects with `@modelcontextprotocol/client`: the 2026-07-28 protocol where the server speaks it, else the older one. */
export async function openV2(transport: Transport, options: SessionOptions): Promise<McpSession> {
  const { Client, ProtocolError, SdkError } = await loadPeer(
    '@modelcontextprotocol/client',
    () => import('@modelcontextprotocol/client'),
    { neededFor: 'This MCP server' },
  );
  const { handlers, server } = options;
  const client = new Client(
    { name: 'mcp-observatory', version: VERSION },
    {
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_TIMEOUT_MS } },
      capabilities: capabilitiesOf(handlers),
      listChanged: {
        tools: { autoRefresh: false, debounceMs: 0, onChanged: () => options.onToolsChanged() },
      },
    },
  );
  const { onElicitation, onSampling, roots } = handlers;
  if (onElicitation) {
    client.setRequestHandler('elicitation/create', async (request, context) => ({
      ...(await onElicitation(request.params, { server, signal: context.mcpReq.signal })),
    }));
  }
  if (onSampling) {
    client.setRequestHandler(
      'sampling/createMessage',
      async (request, context) =>
        // The SDK checks the answer's form before it is sent.
        ({ ...(await onSampling(request.params, { server, signal: context.mcpReq.signal })) }) as never,
    );
  }
  if (roots) client.setRequestHandler('roots/list', () => ({ roots: [...roots] }));
  client.onclose = options.onClose;
  client.onerror = options.onError;
  await client.connect(transport as SdkTransport, { signal: options.signal, timeout: NO_SDK_TIMEOUT_MS });

  const requestOptions = (controls: RequestControls) => ({
    signal: controls.signal,
    timeout: NO_SDK_TIMEOUT_MS,
    ...(controls.onProgress && { onprogress: controls.onProgress }),
  });
  return {
    sdk: 'v2',
    protocolVersion: client.getNegotiatedProtocolVersion(),
    serverInfo: client.getServerVersion() as JsonObject | undefined,
    capabilities: (client.getServerCapabilities() ?? {}) as JsonObject,
    instructions: client.getInstructions(),
    listTools: (cursor, controls) =>
      client.request(
        { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
        ANY_RESULT,
        requestOptions(controls),
      ),
    callTool: async (tool, args, meta, controls) =>
      (await client.callTool(
        { name: tool.name, arguments: { ...args }, ...(meta && { _meta: meta as never }) },
        // With the definition at hand the client mirrors arguments into headers where the schema asks for it
        // (SEP-2243). The output schema is left out: it is checked here, where a mismatch is an outcome.
        {
          ...requestOptions(controls),
          toolDefinition: { name: tool.name, inputSchema: tool.inputSchema as never },
        },
      )) as JsonObject,
    protocolError: (error) =>
      error instanceof ProtocolError
        ? { code: error.code, message: error.message, data: error.data }
        : undefined,
    isInvalidResult: (error) => error instanceof SdkError && error.code === 'INVALID_RESULT',
    close: () => client.close(),
  };
}
