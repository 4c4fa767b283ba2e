import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistogramMetricData } from '@opentelemetry/sdk-metrics';
import { PROVIDERS, replayGhost } from './support/ghost.ts';
import { startHttpMcpServer } from './support/http-mcp-server.ts';
import { TelemetryBench } from './support/telemetry-bench.ts';

for (const { provider, model } of PROVIDERS) {
  test(`${provider}: each model call of a run counts in the metrics of semconv`, async () => {
    await using bench = new TelemetryBench();
    await using mcp = await startHttpMcpServer();
    await replayGhost(
      'spans/metrics',
      provider,
      [
        { calls: [{ name: 'http__add', arguments: { a: 1, b: 2 } }], usage: { input: 100, output: 10 } },
        { text: '3', usage: { input: 120, output: 5 } },
      ],
      { serverConfig: { mcpServers: { http: { url: mcp.url } } } },
    );
    const points = async (name: string) => ((await bench.metric(name)) as HistogramMetricData).dataPoints;
    for (const name of ['duration', 'time_to_first_chunk']) {
      const [point, ...others] = await points(`gen_ai.client.operation.${name}`);
      assert.deepEqual(others, []);
      assert.equal(point?.attributes['gen_ai.request.model'], model);
      assert.equal(point?.value.count, 2, name);
    }
    const tokens = await points('gen_ai.client.token.usage');
    const sums = tokens.map(({ attributes, value }) => [attributes['gen_ai.token.type'], value.sum]);
    assert.deepEqual(sums.toSorted(), [
      ['input', 220],
      ['output', 15],
    ]);
  });
}
