/**
 * Sends OTLP/HTTP protobuf to a receiver as fast as it responds, and prints one JSON line: spans acknowledged, spans/s,
 * and the times to acknowledgment. Requests that are to be retried are sent again with the same spans until accepted.
 *
 *   node dist/bench/otlp-load.js --url http://127.0.0.1:4318/v1/traces [--connections 4] [--spans 512] [--seconds 10]
 *     [--gzip] [--kind content|chat|http|mix]
 *
 * Every request has its own ids, so that a database has to store every span.
 */
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { bodyOf, SPAN_MARK, TRACE_MARK } from './otlp-bodies.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:4318/v1/traces' },
    connections: { type: 'string', default: '4' },
    spans: { type: 'string', default: '512' },
    seconds: { type: 'string', default: '10' },
    gzip: { type: 'boolean', default: false },
    kind: { type: 'string', default: 'content' },
  },
});
const connections = Number(values.connections);
const spansPerRequest = Number(values.spans);

const template = bodyOf(values.kind, spansPerRequest);
const tracePlaces = placesOf(TRACE_MARK);
const spanPlaces = placesOf(SPAN_MARK);
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const times: number[] = [];
let acknowledged = 0;
let comeAgain = 0;
let lost = 0;

const startedAt = performance.now();
const endsAt = startedAt + Number(values.seconds) * 1000;
await Promise.all(Array.from({ length: connections }, sendUntilTheEnd));
const seconds = (performance.now() - startedAt) / 1000;
agent.destroy();
times.sort((a, b) => a - b);
const percentile = (part: number) => Number((times[Math.floor(part * (times.length - 1))] ?? 0).toFixed(2));
process.stdout.write(
  `${JSON.stringify({
    connections,
    spans_per_request: spansPerRequest,
    body_bytes: template.length,
    acknowledged_spans: acknowledged,
    seconds: Number(seconds.toFixed(2)),
    spans_per_second: Math.round(acknowledged / seconds),
    ack_p50_ms: percentile(0.5),
    ack_p99_ms: percentile(0.99),
    told_to_come_again: comeAgain,
    refused_or_broken: lost,
    cpu_us_per_span: Number(cpuPerSpan().toFixed(1)),
  })}\n`,
);

async function sendUntilTheEnd(): Promise<void> {
  while (performance.now() < endsAt) {
    const body = nextBody();
    for (let isTaken = false; !isTaken; ) {
      const sentAt = performance.now();
      const { status, retryAfter } = await send(body).catch(() => ({ status: 503, retryAfter: 1 }));
      if (status === 200) {
        times.push(performance.now() - sentAt);
        acknowledged += spansPerRequest;
        isTaken = true;
      } else if (status === 429 || status === 503) {
        comeAgain += 1;
        await new Promise((resolve) => setTimeout(resolve, retryAfter * 1000));
      } else {
        lost += spansPerRequest;
        isTaken = true;
      }
    }
  }
}

function send(body: Buffer): Promise<{ status: number; retryAfter: number }> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/x-protobuf',
      'content-length': String(body.length),
      ...(values.gzip ? { 'content-encoding': 'gzip' } : {}),
    };
    const sent = request(values.url, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.on('error', reject);
      response.on('end', () => {
        const retryAfter = Number(response.headers['retry-after'] ?? 1);
        resolve({ status: response.statusCode ?? 0, retryAfter });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function nextBody(): Buffer {
  const body = Buffer.from(template);
  const traceId = randomBytes(16);
  const spanIds = randomBytes(8 * spanPlaces.length);
  for (const place of tracePlaces) traceId.copy(body, place);
  for (const [i, place] of spanPlaces.entries()) spanIds.copy(body, place, 8 * i, 8 * i + 8);
  return values.gzip ? gzipSync(body, { level: 1 }) : body;
}

function placesOf(mark: Buffer): number[] {
  const places: number[] = [];
  for (let at = template.indexOf(mark); at !== -1; at = template.indexOf(mark, at + 1)) places.push(at);
  return places;
}

function cpuPerSpan(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / Math.max(1, acknowledged);
}
