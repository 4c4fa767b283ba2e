// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { context, propagation, SpanKind, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { ObservatorySpanProcessor } from '../src/processor/index.ts';
import { type Pair, SDKS } from './support/mcp-sdks.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

for (const sdk of SDKS) {
  test(`${sdk.name}: client and server have the hash of what was sent, also of arguments that change between calls`, async () => {
    const memory = new InMemorySpanExporter();
    const provider = new NodeTracerProvider({
      spanProcessors: [new ObservatorySpanProcessor(), new SimpleSpanProcessor(memory)],
    });
    provider.register();
    const instrumentation = new McpInstrumentation();
    sdk.instrument(instrumentation);
    try {
      const args: Record<string, unknown> = { text: 'a' };
      let inner: Pair | undefined;
      await using pair = await sdk.connect({
        outer: async () => {
          // The very object that is being handled, changed, on another connection.
          args.text = 'inner';
          await inner?.client.callTool({ name: 'leaf', arguments: args });
          args.text = 'after';
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
      const told = (kind: SpanKind) =>
        memory
          .getFinishedSpans()
          .filter((span) => span.kind === kind && span.name.startsWith('tools/call'))
          .map(({ name, attributes }) => [name, attributes['observatory.tool_args_hash']]);
      const expected = [
        ...['a', 'b', 'b', 'a', 'inner'].map((text) => ['tools/call leaf', text]),
        // As it is when the call ends.
        ['tools/call outer', 'after'],
      ].map(([name, text]) => [name, sha256(`{"text":"${text}"}`)]);
      assert.deepEqual(told(SpanKind.SERVER), expected);
      assert.deepEqual(told(SpanKind.CLIENT), expected);
      assert.deepEqual([...instrumentation.faults], []);
    } finally {
      instrumentation.disable();
      await provider.shutdown();
      trace.disable();
      context.disable();
      propagation.disable();
    }
  });
}
