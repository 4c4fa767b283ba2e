import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { requestObject } from './otlp-encode.ts';

/** A span as it came in, with its attributes as plain values. */
export interface ReceivedSpan {
  readonly service: string | undefined;
  readonly scope: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { name: string; attributes: Readonly<Record<string, unknown>> }[];
  readonly links: readonly { traceId: string; spanId: string }[];
  readonly status: { code?: number; message?: string };
}

/** A real OTLP/HTTP endpoint for traces, JSON and protobuf, as the OTLP specification describes it. */
export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string;
  readonly baseUrl: string;
  readonly spans: ReceivedSpan[];
  readonly contentTypes: string[];
  /** Requests for traces as they came, unpacked: what a test looks through for planted secrets. */
  readonly bodies: Buffer[];
}

/** Starts a receiver on a free port; a `silent` one reads what comes and never answers. */
export async function startOtlpReceiver(options: { silent?: boolean } = {}): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const contentTypes: string[] = [];
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (options.silent) return;
      const raw = Buffer.concat(chunks);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
      const type = request.headers['content-type'] ?? '';
      if (request.url === '/v1/traces') {
        contentTypes.push(type);
        bodies.push(body);
        spans.push(...readRequest(type.includes('json') ? JSON.parse(body.toString('utf8')) : decode(body)));
      }
      response.writeHead(200, { 'content-type': type }).end(type.includes('json') ? '{}' : '');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${baseUrl}/v1/traces`,
    baseUrl,
    spans,
    contentTypes,
    bodies,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Protobuf as the object that OTLP/JSON has: ids as hex, 64-bit numbers as text. */
function decode(body: Buffer): Json {
  return JSON.parse(JSON.stringify(requestObject(body)), (key, value) =>
    typeof value === 'string' && /^(trace|span|parentSpan)Id$/.test(key)
      ? Buffer.from(value, 'base64').toString('hex')
      : value,
  );
}

// biome-ignore lint/suspicious/noExplicitAny: decoded JSON of a foreign format
type Json = any;

function readRequest(request: Json): ReceivedSpan[] {
  return request.resourceSpans.flatMap((resourceSpans: Json) =>
    resourceSpans.scopeSpans.flatMap((scopeSpans: Json) =>
      scopeSpans.spans.map((span: Json) => ({
        service: readAttributes(resourceSpans.resource?.attributes)['service.name'] as string | undefined,
        scope: scopeSpans.scope?.name ?? '',
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId || undefined,
        name: span.name,
        kind: span.kind,
        attributes: readAttributes(span.attributes),
        events: (span.events ?? []).map((event: Json) => ({
          name: event.name,
          attributes: readAttributes(event.attributes),
        })),
        links: (span.links ?? []).map((link: Json) => ({ traceId: link.traceId, spanId: link.spanId })),
        status: span.status ?? {},
      })),
    ),
  );
}

export function readAttributes(list: Json[] | undefined): Record<string, unknown> {
  return Object.fromEntries((list ?? []).map(({ key, value }) => [key, readValue(value)]));
}

function readValue(value: Json): unknown {
  if (value === undefined || value === null) return null;
  if ('stringValue' in value) return value.stringValue;
  if ('boolValue' in value) return value.boolValue;
  if ('intValue' in value) return Number(value.intValue);
  if ('doubleValue' in value) return value.doubleValue;
  if ('arrayValue' in value) return (value.arrayValue.values ?? []).map(readValue);
  if ('kvlistValue' in value) return readAttributes(value.kvlistValue.values);
  return value.bytesValue ?? null;
}
