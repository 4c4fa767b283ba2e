/**
 * Compares `mcp-observatory collect` with the real OpenTelemetry Collector: the same requests from the same load
 * generator, ours into Postgres with durable settings, the Collector without an exporter. That is the lower bound of
 * receiving OTLP, in Go.
 *
 *   node dist/bench/collector-floor.js [options of bench/collector.js]
 *
 * Builds the Collector on first use, which takes minutes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startOtelcol } from '../test/support/otelcol.ts';

const BENCH = fileURLToPath(new URL('./collector.js', import.meta.url));

/** OTLP in, nothing out. */
const FLOOR = `yaml:${JSON.stringify({
  receivers: { otlp: { protocols: { grpc: {}, http: {} } } },
  exporters: { nop: null },
  extensions: { health_check: {} },
  service: {
    extensions: ['health_check'],
    pipelines: { traces: { receivers: ['otlp'], exporters: ['nop'] } },
  },
})}`;

const folder = mkdtempSync(join(tmpdir(), 'observatory-bench-floor-'));
try {
  await using floor = await startOtelcol({ base: FLOOR, folder });
  const target = ['--floor', `${floor.http}/v1/traces`, '--floor-pid', String(floor.child.pid)];
  const bench = spawn(process.execPath, [BENCH, ...target, ...process.argv.slice(2)], { stdio: 'inherit' });
  const [code] = (await once(bench, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
