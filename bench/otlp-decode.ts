/**
 * CPU time of reading OTLP: our protobuf reader, which returns spans; protobufjs, which only returns messages; and
 * OTLP/JSON. Alternates between them and prints the median of the rounds.
 *
 *   node dist/bench/otlp-decode.js [rounds]
 */
import { decodeJson, decodeProtobuf } from '../src/otlp/index.ts';
import { decodeRequest, encodeJson, encodeProtobuf, requestJson } from '../test/support/otlp-encode.ts';
import { recordSpans } from '../test/support/spans.ts';

const SPANS = 512;
const [rounds = 31] = process.argv.slice(2).map(Number);

const spans = recordSpans((tracer) => {
  for (let i = 0; i < SPANS; i += 1) {
    const attributes = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [
        `app.attribute.number.${n}`,
        n % 3 === 0 ? n * i : `a value ${i * n}`,
      ]),
    );
    tracer.startSpan('chat gpt-4o', { attributes }).end();
  }
});
const protobuf = encodeProtobuf(requestJson(spans));
const json = encodeJson(spans);

const ways: readonly (readonly [string, () => unknown])[] = [
  ['own reader', () => decodeProtobuf(protobuf, SPANS)],
  ['protobufjs', () => decodeRequest(protobuf)],
  ['JSON', () => decodeJson(json, SPANS)],
];
const times = new Map<string, number[]>(ways.map(([name]) => [name, []]));
for (let round = 0; round < rounds + 5; round += 1) {
  for (const [name, decode] of ways) {
    const before = process.cpuUsage();
    decode();
    const { user, system } = process.cpuUsage(before);
    // The first rounds warm up.
    if (round >= 5) times.get(name)?.push((user + system) / SPANS);
  }
}
process.stdout.write(
  `${SPANS} spans of 30 attributes, ${protobuf.length} bytes of protobuf, ${json.length} of JSON\n`,
);
for (const [name, all] of times) {
  const sorted = all.sort((a, b) => a - b);
  process.stdout.write(
    `${name.padEnd(12)}${(sorted[sorted.length >> 1] ?? 0).toFixed(1).padStart(8)} us/span\n`,
  );
}
