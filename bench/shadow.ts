/**
 * What a shadow adds to the latency of the primary when its candidate hangs.
 *
 *     npm run build && node dist/bench/shadow.js
 *
 * The primary calls a local HTTP server that responds after a few milliseconds. Calls without and with a shadow
 * alternate in one process, so that a busy machine slows both equally; both run inside a span of a real SDK. There are
 * two settings: the default limits, which skip most shadow calls, and limits so high that every call has a shadow.
 * Results are medians of the ratios per round.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { trace } from '@opentelemetry/api';
import { BatchSpanProcessor, InMemorySpanExporter, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { type ShadowOptions, shadow } from '../src/execution/index.ts';
import { ObservatorySpanProcessor } from '../src/index.ts';
import { distribution, median, quantile } from './spread.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 10);
const CALLS = Number(process.env.BENCH_CALLS ?? 1_000);
const CONCURRENCY = 8;
const ANSWER_AFTER_MS = 5;

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({
  spanProcessors: [
    new ObservatorySpanProcessor(),
    new BatchSpanProcessor(exporter, { maxQueueSize: 100_000 }),
  ],
});
provider.register();
const tracer = trace.getTracer('bench');

const server = createServer((_, response) => {
  setTimeout(() => response.end('{"text":"The invoice needs a human review."}'), ANSWER_AFTER_MS);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

type Ask = (prompt: string) => Promise<unknown>;
const primary: Ask = async (prompt) => (await fetch(url, { method: 'POST', body: prompt })).json();
const candidate = () => new Promise<never>(() => {});

const SETTINGS: Readonly<Record<string, Partial<ShadowOptions<[string], Promise<unknown>>>>> = {
  'default limits': {},
  'every call accompanied': { maxConcurrency: 1_000_000, timeoutMs: 1_000 },
};

/** Milliseconds of one call in a span, as a server's handler makes it. */
async function timed(ask: Ask): Promise<number> {
  const start = performance.now();
  await tracer.startActiveSpan('request', (span) => ask('Review the invoice').finally(() => span.end()));
  return performance.now() - start;
}

/** Calls without and with a shadow, by turns, from several callers at once. */
async function round(asks: readonly Ask[]): Promise<number[][]> {
  const times: number[][] = asks.map(() => []);
  const caller = async (first: number) => {
    for (let i = 0; i < (asks.length * CALLS) / CONCURRENCY; i += 1) {
      const which = (first + i) % asks.length;
      times[which]?.push(await timed(asks[which] as Ask));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, (_, first) => caller(first)));
  exporter.reset();
  return times;
}

console.log(`Node ${process.version}, ${process.arch}; ${ROUNDS} rounds of ${CALLS} calls each way\n`);
console.log('setting                  quantile   without ms   with ms   ratio (quartiles)    runs');
await round([primary, primary]);
for (const [name, limits] of Object.entries(SETTINGS)) {
  const shadowed = shadow({ name: 'bench', primary, candidate, ...limits });
  const rounds: number[][][] = [];
  for (let i = 0; i < ROUNDS; i += 1) rounds.push(await round([primary, shadowed]));
  for (const [label, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const) {
    const [without, withShadow] = [0, 1].map((which) =>
      rounds.map((times) => quantile(times[which] ?? [], share)),
    ) as [number[], number[]];
    const ratios = without.map((time, i) => (withShadow[i] ?? Number.NaN) / time);
    const times = [median(without), median(withShadow)].map((value, i) =>
      value.toFixed(3).padStart([12, 9][i] ?? 0),
    );
    const text = [...times, ` ${distribution(ratios, 3)}`].join(' ');
    console.log(
      `${name.padEnd(24)} ${label.padEnd(8)} ${text}  ${String(shadowed.stats.started).padStart(6)}`,
    );
  }
  await shadowed.shutdown(0);
}
await provider.shutdown();
server.closeAllConnections();
server.close();
