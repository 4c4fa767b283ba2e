// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { SpanKind } from '@opentelemetry/api';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { type Pair, SDKS } from './support/mcp-sdks.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

for (const sdk of SDKS) {
  test(`${sdk.name}: client and server have the hash of what was sent, also of arguments that change between calls`, async () => {
    await using bench = new TelemetryBench([new ObservatorySpanProcessor()]);
    const instrumentation = new McpInstrumentation();
    sdk.instrument(instrumentation);
    try {
      const args: Record<string, unknown> = { text: 'a' };
      let inner: Pair | undefined;
      const remote = await clientOfOther();
      await using pair = await sdk.connect({
        outer: async () => {
          // The very object that is being handled, changed, on another connection.
          args.text = 'inner';
          await inner?.client.callTool({ name: 'leaf', arguments: args });
          args.text = 'after';
          return { content: [] };
        },
        forward: async () => {
          await remote.callTool({ name: 'elsewhere', arguments: args });
          args.text = 'forwarded';
          return { content: [] };
        },
        leaf: () => ({ content: [] }),
      });
      await using other = await sdk.connect({ leaf: () => ({ content: [] }) });
      inner = other;
      for (const text of ['a', 'b', 'b', 'a']) {
        args.text = text;
        await pair.client.callTool({ name: 'leaf', arguments: args });
      }
      await pair.client.callTool({ name: 'outer', arguments: args });
      await pair.client.callTool({ name: 'forward', arguments: args });
      await remote.close();
      const told = (kind: SpanKind) =>
        bench.spans
          .filter(({ name }) => name.startsWith('tools/call') && !name.endsWith('elsewhere'))
          .filter((span) => span.kind === kind)
          .map(({ name, attributes }) => [name, attributes['observatory.tool_args_hash']]);
      const expected = [
        ...['a', 'b', 'b', 'a', 'inner'].map((text) => ['tools/call leaf', text]),
        // As it is when the call ends.
        ['tools/call outer', 'after'],
        ['tools/call forward', 'forwarded'],
      ].map(([name, text]) => [name, sha256(`{"text":"${text}"}`)]);
      assert.deepEqual(told(SpanKind.SERVER), expected);
      assert.deepEqual(told(SpanKind.CLIENT), expected);
      assert.deepEqual([...instrumentation.faults], []);
    } finally {
      instrumentation.disable();
    }
  });
}

/** A client of a server that is not in this process, as far as spans tell. */
async function clientOfOther(): Promise<Client> {
  const [here, there] = InMemoryTransport.createLinkedPair();
  there.onmessage = (message) => {
    const { id, method } = message as { readonly id?: number; readonly method?: string };
    if (id === undefined) return;
    const opened = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      serverInfo: { name: 's', version: '1' },
    };
    void there.send({ jsonrpc: '2.0', id, result: method === 'initialize' ? opened : { content: [] } });
  };
  await there.start();
  const client = new Client({ name: 'c', version: '1' });
  await client.connect(here);
  return client;
}
