import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { importPeer, loadPeer, VERSION } from '../base/index.ts';
import { type JsonObject, objectAt, withIntegers } from '../json/index.ts';
import {
  answeredRequests,
  type McpSession,
  NO_SDK_TIMEOUT_MS,
  type RequestControls,
  rawRequest,
  readCapabilities,
  requestToolPage,
  type SessionOptions,
  type Transport,
} from './session.ts';
import type { CallableTool } from './types.ts';

/** Bound on the request that cancels a task; its answer is ignored. */
const CANCEL_TIMEOUT_MS = 5_000;

type SdkTransport = Parameters<Client['connect']>[0];

/** Connects with `@modelcontextprotocol/sdk`, protocol versions up to 2025-11-25. */
export async function openV1(transport: Transport, options: SessionOptions): Promise<McpSession> {
  const [{ Client }, types] = await loadPeer(
    '@modelcontextprotocol/sdk',
    () =>
      Promise.all([
        importPeer<typeof import('@modelcontextprotocol/sdk/client/index.js')>(
          '@modelcontextprotocol/sdk/client/index.js',
        ),
        importPeer<typeof import('@modelcontextprotocol/sdk/types.js')>('@modelcontextprotocol/sdk/types.js'),
      ]),
    { neededFor: 'This MCP server' },
  );
  const client = new Client(
    { name: 'mcp-observatory', version: VERSION },
    {
      capabilities: readCapabilities(options.handlers),
    },
  );
  const schemas = {
    'elicitation/create': types.ElicitRequestSchema,
    'sampling/createMessage': types.CreateMessageRequestSchema,
    'roots/list': types.ListRootsRequestSchema,
  };
  for (const { method, answer } of answeredRequests(options)) {
    client.setRequestHandler(schemas[method] as (typeof schemas)['roots/list'], ({ params }, { signal }) =>
      answer(params, signal),
    );
  }
  client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => options.onToolsChanged());
  client.onclose = options.onClose;
  client.onerror = options.onError;

  let protocolVersion: string | undefined;
  const onmessage = transport.onmessage;
  transport.onmessage = (message, extra) => {
    onmessage?.(message, extra);
    // The client does not expose the negotiated version. The first answer that names one is that of `initialize`.
    protocolVersion ??= (message.result as { protocolVersion?: string } | undefined)?.protocolVersion;
  };
  await client.connect(transport as SdkTransport, { signal: options.signal, timeout: NO_SDK_TIMEOUT_MS });

  const request: SendRequest = (method, params, controls) => rawRequest(client, method, params, controls);
  return {
    sdk: 'v1',
    protocolVersion,
    serverInfo: client.getServerVersion() as JsonObject | undefined,
    capabilities: (client.getServerCapabilities() ?? {}) as JsonObject,
    instructions: client.getInstructions(),
    sessionId: () => transport.sessionId,
    listTools: (cursor, { signal }) => requestToolPage(client, cursor, signal),
    callTool: (tool, args, meta, controls) => {
      const params = {
        name: tool.name,
        arguments: withIntegers(args, tool.inputSchema),
        ...(meta && { _meta: meta }),
      };
      return needsTask(tool)
        ? callAsTask(request, params, controls)
        : request('tools/call', params, controls);
    },
    readResource: (uri, controls) => request('resources/read', { uri }, controls),
    protocolError: (error) =>
      error instanceof types.McpError
        ? { code: error.code, message: error.message.replace(/^MCP error -?\d+: /, ''), data: error.data }
        : undefined,
    close: () => client.close(),
  };
}

type SendRequest = (method: string, params: JsonObject, controls: RequestControls) => Promise<JsonObject>;

/** Some tools run only as a task (2025-11-25, experimental) and refuse a plain call. */
function needsTask(tool: CallableTool): boolean {
  return (tool.execution as { taskSupport?: unknown } | undefined)?.taskSupport === 'required';
}

/** Starts the task and waits for its result, which the server sends when the task has ended. */
async function callAsTask(
  request: SendRequest,
  params: JsonObject,
  controls: RequestControls,
): Promise<JsonObject> {
  const created = await request('tools/call', { ...params, task: {} }, controls);
  const taskId = objectAt(created, 'task')?.taskId;
  if (typeof taskId !== 'string') return created;
  try {
    return await request('tasks/result', { taskId }, controls);
  } catch (error) {
    // Cancelling the wait does not cancel the task.
    if (controls.signal.aborted) {
      request('tasks/cancel', { taskId }, { signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS) }).catch(
        () => undefined,
      );
    }
    throw error;
  }
}
