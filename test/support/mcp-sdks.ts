/** The two lines of the MCP SDK behind one small interface, so that one test runs on both. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v2Client from '@modelcontextprotocol/client';
import * as v1Client from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as V1InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import * as v1Mcp from '@modelcontextprotocol/sdk/server/mcp.js';
import * as v1Protocol from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import * as v2Server from '@modelcontextprotocol/server';
import { z } from 'zod';
import { McpInstrumentation, type McpInstrumentationConfig } from '../../src/instrumentation/mcp/index.ts';
import { TelemetryBench } from './telemetry-bench.ts';

/** What a tool handler of the tests gets beside its arguments. */
export interface HandlerTools {
  readonly signal: AbortSignal;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  sendRequest(method: string, params: Record<string, unknown>): Promise<unknown>;
  notify(method: string, params: Record<string, unknown>): Promise<void>;
}

export interface Pair extends AsyncDisposable {
  /** `callTool` with options, which stand third in v1 and second in v2. */
  call(name: string, args: Record<string, unknown>, options: CallOptions): Promise<unknown>;
  readonly client: v1Client.Client;
  readonly server: v1Mcp.McpServer;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeout?: number;
  readonly onprogress?: (progress: unknown) => void;
}

export type Tool = (args: Record<string, unknown>, tools: HandlerTools) => unknown;

export interface Sdk {
  readonly name: 'v1' | 'v2';
  instrument(instrumentation: McpInstrumentation): void;
  /** A connected client and server in memory, with these tools and a prompt and a resource. */
  connect(tools: Record<string, Tool>): Promise<Pair>;
}

type AnyServer = v1Mcp.McpServer;
type AnyClient = v1Client.Client;

function register(
  server: AnyServer,
  tools: Record<string, Tool>,
  adapt: (extra: never) => HandlerTools,
): void {
  for (const [name, tool] of Object.entries(tools)) {
    const inputSchema = z.looseObject({ text: z.string().optional() });
    server.registerTool(name, { description: name, inputSchema: inputSchema as never }, (async (
      args: never,
      extra: never,
    ) => tool(args, adapt(extra))) as never);
  }
  server.registerPrompt('greeting', { description: 'a prompt' }, (() => ({
    messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }],
  })) as never);
  server.registerResource('note', 'note://one', {}, ((uri: URL) => ({
    contents: [{ uri: uri.href, text: 'resource text' }],
  })) as never);
}

async function connectPair(
  client: AnyClient,
  server: AnyServer,
  linked: readonly [unknown, unknown],
  call: Pair['call'],
): Promise<Pair> {
  await Promise.all([server.connect(linked[1] as never), client.connect(linked[0] as never)]);
  return {
    client,
    server,
    call,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

const CLIENT_INFO = { name: 'test-client', version: '1.0.0' };
const SERVER_INFO = { name: 'test-server', version: '1.0.0' };
const CLIENT_OPTIONS = { capabilities: { sampling: {}, elicitation: {}, roots: {} } };
const SAMPLED = { model: 'test-model', role: 'assistant', content: { type: 'text', text: 'sampled' } };

export const v1: Sdk = {
  name: 'v1',
  instrument: (instrumentation) => instrumentation.manuallyInstrument(v1Protocol, v1Mcp),
  connect(tools) {
    const server = new v1Mcp.McpServer(SERVER_INFO, { capabilities: { logging: {} } });
    register(server, tools, ((extra: {
      signal: AbortSignal;
      _meta?: Record<string, unknown>;
      sendRequest: (request: unknown, schema: unknown) => Promise<unknown>;
      sendNotification: (notification: unknown) => Promise<void>;
    }) => ({
      signal: extra.signal,
      meta: extra._meta,
      sendRequest: (method: string, params: Record<string, unknown>) =>
        extra.sendRequest({ method, params }, z.looseObject({})),
      notify: (method: string, params: Record<string, unknown>) => extra.sendNotification({ method, params }),
    })) as never);
    const client = new v1Client.Client(CLIENT_INFO, CLIENT_OPTIONS);
    client.setRequestHandler(CreateMessageRequestSchema, (() => SAMPLED) as never);
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' as const }));
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [] }));
    return connectPair(client, server, V1InMemoryTransport.createLinkedPair(), (name, args, options) =>
      client.callTool({ name, arguments: args }, undefined, options),
    );
  },
};

export const v2: Sdk = {
  name: 'v2',
  instrument: (instrumentation) => instrumentation.manuallyInstrument(v2Client, v2Server),
  connect(tools) {
    const server = new v2Server.McpServer(SERVER_INFO, {
      capabilities: { logging: {} },
    }) as unknown as AnyServer;
    register(server, tools, ((ctx: {
      mcpReq: {
        signal: AbortSignal;
        _meta?: Record<string, unknown>;
        send: (request: unknown, schema?: unknown) => Promise<unknown>;
        notify: (notification: unknown) => Promise<void>;
      };
    }) => ({
      signal: ctx.mcpReq.signal,
      meta: ctx.mcpReq._meta,
      sendRequest: (method: string, params: Record<string, unknown>) =>
        ctx.mcpReq.send({ method, params }, z.looseObject({})),
      notify: (method: string, params: Record<string, unknown>) => ctx.mcpReq.notify({ method, params }),
    })) as never);
    const client = new v2Client.Client(CLIENT_INFO, CLIENT_OPTIONS);
    client.setRequestHandler('sampling/createMessage', (() => SAMPLED) as never);
    client.setRequestHandler('elicitation/create', () => ({ action: 'decline' as const }));
    client.setRequestHandler('roots/list', () => ({ roots: [] }));
    const linked = v2Client.InMemoryTransport.createLinkedPair();
    return connectPair(client as unknown as AnyClient, server, linked, (name, args, options) =>
      client.callTool({ name, arguments: args }, options),
    );
  },
};

export const SDKS = [v1, v2] as const;

/** Runs `body` on a bench with an instrumentation, for each line of the SDK. */
export function onBothSdks(
  name: string,
  body: (sdk: Sdk, bench: TelemetryBench, instrumentation: McpInstrumentation) => Promise<void>,
  config: McpInstrumentationConfig = {},
): void {
  for (const sdk of SDKS) {
    test(`${sdk.name}: ${name}`, async () => {
      await using bench = new TelemetryBench();
      const instrumentation = new McpInstrumentation(config);
      try {
        sdk.instrument(instrumentation);
        await body(sdk, bench, instrumentation);
        assert.deepEqual([...instrumentation.faults], []);
      } finally {
        instrumentation.disable();
      }
    });
  }
}
