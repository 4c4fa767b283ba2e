// Runs with the others that hook the MCP SDKs: the hook of require() stays in the process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistogramMetricData } from '@opentelemetry/sdk-metrics';
import { McpInstrumentation } from '../src/instrumentation/mcp/index.ts';
import { SDKS } from './support/mcp-sdks.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

const EMPTY = { content: [] };

for (const sdk of SDKS) {
  test(`${sdk.name}: the four duration metrics are in seconds, with the buckets and attributes of semconv`, async () => {
    await using bench = new TelemetryBench();
    const instrumentation = new McpInstrumentation();
    sdk.instrument(instrumentation);
    try {
      {
        await using pair = await sdk.connect({
          nap: async () => {
            await new Promise((resolve) => setTimeout(resolve, 30));
            return EMPTY;
          },
          fail: () => ({ ...EMPTY, isError: true }),
        });
        await pair.client.callTool({ name: 'nap', arguments: {} });
        await pair.client.callTool({ name: 'nap', arguments: {} });
        await pair.client.callTool({ name: 'fail', arguments: {} });
      }
      const version = bench.span('initialize', 2).attributes['mcp.protocol.version'];
      for (const side of ['client', 'server']) {
        const operations = (await bench.metric(`mcp.${side}.operation.duration`)) as HistogramMetricData;
        assert.equal(operations.descriptor.unit, 's');
        const naps = operations.dataPoints.find((point) => point.attributes['gen_ai.tool.name'] === 'nap');
        assert.deepEqual(naps?.attributes, {
          'mcp.method.name': 'tools/call',
          'gen_ai.tool.name': 'nap',
          'gen_ai.operation.name': 'execute_tool',
          'mcp.protocol.version': version,
          // A peer of many; this side is known by its service.
          ...(side === 'client'
            ? { 'observatory.mcp.server.name': 'test-server' }
            : { 'observatory.mcp.client.name': 'test-client' }),
        });
        assert.equal(naps?.value.count, 2);
        assert.ok((naps?.value.sum ?? 0) > 0.055 && (naps?.value.sum ?? 99) < 50, `${naps?.value.sum}`);
        assert.deepEqual(
          naps?.value.buckets.boundaries,
          [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
        );
        const failed = operations.dataPoints.find((point) => point.attributes['gen_ai.tool.name'] === 'fail');
        assert.equal(failed?.attributes['error.type'], 'tool_error');
        const keys = new Set(operations.dataPoints.flatMap((point) => Object.keys(point.attributes)));
        assert.equal(keys.has('jsonrpc.request.id') || keys.has('mcp.session.id'), false);
        const sessions = (await bench.metric(`mcp.${side}.session.duration`)) as HistogramMetricData;
        assert.equal(sessions.dataPoints.length, 1);
        assert.equal(sessions.dataPoints[0]?.value.count, 1);
        assert.deepEqual(sessions.dataPoints[0]?.attributes, { 'mcp.protocol.version': version });
      }
    } finally {
      instrumentation.disable();
    }
  });

  test(`${sdk.name}: names a peer makes up cannot multiply the series of a metric`, async () => {
    await using bench = new TelemetryBench();
    const instrumentation = new McpInstrumentation({ maxMetricNames: 3 });
    sdk.instrument(instrumentation);
    try {
      await using pair = await sdk.connect({ real: () => EMPTY });
      for (let i = 0; i < 20; i += 1) {
        await pair.client.callTool({ name: `made-up-${i}`, arguments: {} }).catch(() => undefined);
        await pair.client.notification({ method: `acme/made-up-${i}` } as never).catch(() => undefined);
      }
      const operations = (await bench.metric('mcp.server.operation.duration')) as HistogramMetricData;
      const values = (key: string) => new Set(operations.dataPoints.map((point) => point.attributes[key]));
      assert.deepEqual(
        values('gen_ai.tool.name'),
        new Set([undefined, 'made-up-0', 'made-up-1', 'made-up-2', '_other']),
      );
      assert.deepEqual([...values('mcp.method.name')].sort(), [
        '_other',
        'acme/made-up-0',
        'acme/made-up-1',
        'acme/made-up-2',
        'initialize',
        'notifications/initialized',
        'tools/call',
      ]);
      bench.span('acme/made-up-19', 1);
    } finally {
      instrumentation.disable();
    }
  });
}
