/**
 * Sends OTLP/HTTP protobuf to a receiver as fast as it responds, and prints one JSON line: spans acknowledged, spans/s,
 * and the times to acknowledgment. Requests that are to be retried are sent again with the same spans until accepted.
 *
 *   node dist/bench/otlp-load.js --url http://127.0.0.1:4318/v1/traces [--connections 4] [--spans 512] [--seconds 10]
 *     [--gzip]
 *
 * Every request has its own ids, so that a database has to store every span.
 */
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { encodeProtobuf } from '../test/support/otlp-encode.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:4318/v1/traces' },
    connections: { type: 'string', default: '4' },
    spans: { type: 'string', default: '512' },
    seconds: { type: 'string', default: '10' },
    gzip: { type: 'boolean', default: false },
  },
});
const connections = Number(values.connections);
const spansPerRequest = Number(values.spans);

/** Stand for the ids in the body that all requests are made from. */
const TRACE_MARK = Buffer.from('a1a2a3a4a5a6a7a8a9aaabacadaeafb0', 'hex');
const SPAN_MARK = Buffer.from('b1b2b3b4b5b6b7b8', 'hex');

const template = makeBody(spansPerRequest);
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

/** Model calls as OpenLLMetry writes them, with a prompt and an answer of some sentences. */
function makeBody(count: number): Buffer {
  const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
  const number = (key: string, value: number) => ({ key, value: { intValue: String(value) } });
  const now = BigInt(Date.now()) * 1_000_000n;
  const spans = Array.from({ length: count }, (_, i) => ({
    traceId: TRACE_MARK.toString('hex'),
    spanId: SPAN_MARK.toString('hex'),
    name: 'chat gpt-4o',
    kind: 3,
    startTimeUnixNano: String(now + BigInt(i) * 1_000_000n),
    endTimeUnixNano: String(now + BigInt(i) * 1_000_000n + 800_000_000n),
    attributes: [
      text('gen_ai.operation.name', 'chat'),
      text('gen_ai.system', 'openai'),
      text('gen_ai.request.model', 'gpt-4o'),
      text('gen_ai.response.model', 'gpt-4o-2024-08-06'),
      text('gen_ai.response.id', `chatcmpl-${i}`),
      number('gen_ai.usage.input_tokens', 500 + i),
      number('gen_ai.usage.output_tokens', 40 + (i % 200)),
      text('gen_ai.prompt.0.role', 'system'),
      text('gen_ai.prompt.0.content', 'You answer questions about orders. Be brief, and name the order.'),
      text('gen_ai.prompt.1.role', 'user'),
      text(
        'gen_ai.prompt.1.content',
        `Where is order ${i}? It was sent on ${i % 28} May to Berlin. ${'It is urgent. '.repeat(10)}`,
      ),
      text('gen_ai.completion.0.role', 'assistant'),
      text(
        'gen_ai.completion.0.content',
        `Order ${i} was sent on ${i % 28} May and is in Berlin. ${'It comes tomorrow. '.repeat(4)}`,
      ),
      text('server.address', 'api.openai.com'),
      text('app.user.id', `user-${i}`),
      text('app.route', '/v1/orders/{order}'),
    ],
    status: {},
  }));
  const resource = { attributes: [text('service.name', 'orders'), text('host.name', 'app-1')] };
  return encodeProtobuf({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'bench' }, spans }] }] });
}

function cpuPerSpan(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / Math.max(1, acknowledged);
}
