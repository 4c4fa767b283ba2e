/**
 * `@ai-sdk/mcp` has a client of its own. It keeps its classes to itself, so they are met through what it makes: each
 * kind of transport is patched where it sends.
 */

import { replaceExports } from '../shared/index.ts';
import { connectionOn } from './connection.ts';
import type { TransportLike } from './internal-types.ts';
import { CLOSED_OUTCOME } from './outcome.ts';
import { findOwner, type Method, patchMethod } from './patch-method.ts';
import { hookTransport } from './patch-transport.ts';
import type { Telemetry } from './telemetry.ts';

export const AI_SDK_PACKAGE = '@ai-sdk/mcp';
export const AI_SDK_RANGE = ['>=1.0.0 <3'];
const FACTORIES = ['createMCPClient', 'experimental_createMCPClient'];

type Create = (config: unknown) => Promise<unknown>;

/** Replaces the functions that make clients. */
export function patchAiSdkClient<T>(exports: T, telemetry: Telemetry): T {
  const known = new Map<string, Promise<void>>();
  const around = (create: Create): Create =>
    async function createMCPClient(config) {
      const transport = (config as { readonly transport?: unknown } | undefined)?.transport as
        | { readonly type?: unknown; readonly send?: unknown }
        | undefined;
      if (typeof transport?.send === 'function') hook(transport, telemetry);
      const type = transport?.type;
      if (type === 'http' || type === 'sse') {
        const learned = known.get(type) ?? learn(create, type, telemetry);
        known.set(type, learned);
        await learned;
      }
      const client = await create(config);
      hook((client as { readonly transport?: unknown }).transport, telemetry);
      return client;
    };
  return replaceExports(exports, FACTORIES, (original) => around(original as Create));
}

function hook(transport: unknown, telemetry: Telemetry): void {
  telemetry.guard.run('mcp.ai-sdk', () => {
    if (typeof transport !== 'object' || transport === null) return;
    hookTransport(transport as TransportLike, telemetry);
    const owner = findOwner(transport, 'close');
    if (owner !== undefined) patchMethod(owner, 'close', telemetry, patchedClose);
  });
}

function patchedClose(self: unknown, args: unknown[], original: Method, telemetry: Telemetry): unknown {
  telemetry.guard.run('mcp.close', () => {
    connectionOn(self as TransportLike, telemetry).close(CLOSED_OUTCOME, performance.now());
  });
  return original.apply(self, args);
}

/** Makes a client of a server that is not there, to patch its transport before the first real one connects. */
async function learn(create: Create, type: string, telemetry: Telemetry): Promise<void> {
  try {
    const transport = { type, url: 'http://127.0.0.1/', fetch: answerAsServer };
    const client = (await create({ transport })) as {
      readonly transport?: unknown;
      close(): Promise<void>;
    };
    hook(client.transport, telemetry);
    await client.close();
  } catch {
    // The transport is met when the first client is connected.
  }
}

/** In place of `fetch`: accepts an `initialize`, without a network. */
async function answerAsServer(_url: unknown, init?: { readonly method?: string; readonly body?: unknown }) {
  const headers = { 'content-type': 'application/json' };
  const { id, method, params } = JSON.parse(String(init?.body ?? '{}')) as {
    readonly id?: unknown;
    readonly method?: string;
    readonly params?: { readonly protocolVersion?: string };
  };
  if (init?.method !== 'POST') return new Response(null, { status: 405 });
  if (id === undefined) return new Response(null, { status: 202 });
  if (method !== 'initialize') {
    const error = { code: -32601, message: 'Method not found' };
    return new Response(JSON.stringify({ jsonrpc: '2.0', id, error }), { headers });
  }
  const result = {
    protocolVersion: params?.protocolVersion,
    capabilities: {},
    serverInfo: { name: 'mcp-observatory', version: '0' },
  };
  return new Response(JSON.stringify({ jsonrpc: '2.0', id, result }), { headers });
}
