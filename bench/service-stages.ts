/**
 * CPU time of what `collect` does with a span, by stage and kind of span: decoding of OTLP protobuf, enrichment, and the
 * encoding of its row. Prints the median and the range of the rounds, in microseconds per span.
 *
 *   node dist/bench/service-stages.js [rounds] [content|chat|http|mix]
 */
import { createNoopMeter, type Meter, type MeterProvider } from '@opentelemetry/api';
import { decodeProtobuf } from '../src/otlp/index.ts';
import { RowEncoder } from '../src/postgres/row-encoder.ts';
import { resolveRowLimits } from '../src/postgres/row-limits.ts';
import { Enricher } from '../src/processor/index.ts';
import { bodyOf, SPAN_KINDS } from './otlp-bodies.ts';

const SPANS = 504;
const rounds = Number(process.argv[2] ?? 21);
const only = process.argv[3];

/** Has instruments that nobody reads, as in a service without a metrics back end. */
const METERS: MeterProvider = { getMeter: (): Meter => createNoopMeter() };
const processor = new Enricher({ meterProvider: METERS, redactContent: true });
const encoder = new RowEncoder(resolveRowLimits({}));

function cpuOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / SPANS;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

process.stdout.write(
  `${'us per span'.padEnd(20)}${['decode', 'enrich', 'row'].map((name) => name.padStart(22)).join('')}\n`,
);
for (const name of Object.keys(SPAN_KINDS)) {
  if (only !== undefined && name !== only) continue;
  const body = bodyOf(name, SPANS);
  const times: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < rounds + 10; round += 1) {
    let spans = decodeProtobuf(body, SPANS).spans;
    const decode = cpuOf(() => {
      spans = decodeProtobuf(body, SPANS).spans;
    });
    const enrich = cpuOf(() => {
      for (const span of spans) processor.expectReceived(span);
      for (const span of spans) processor.enrichReceived(span);
    });
    const row = cpuOf(() => {
      for (const span of spans) encoder.binary(span);
    });
    // The first rounds warm up.
    if (round < 10) continue;
    times[0].push(decode);
    times[1].push(enrich);
    times[2].push(row);
  }
  const cells = times.map(
    (all) => `${median(all).toFixed(1)} (${Math.min(...all).toFixed(1)}-${Math.max(...all).toFixed(1)})`,
  );
  process.stdout.write(`${name.padEnd(20)}${cells.map((cell) => cell.padStart(22)).join('')}\n`);
}
