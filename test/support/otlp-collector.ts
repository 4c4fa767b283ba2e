/**
 * A tiny OTLP/JSON collector over HTTP for tests that run the instrumented program in its own process: keeps what was
 * exported and returns it flattened.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readAttributes } from './otlp-receiver.ts';

export type AttributeValue =
  | string
  | number
  | boolean
  | null
  | AttributeValue[]
  | { [key: string]: AttributeValue };
export type Attributes = Record<string, AttributeValue>;

export interface CollectedSpan {
  readonly name: string;
  readonly kind: 'INTERNAL' | 'SERVER' | 'CLIENT' | 'PRODUCER' | 'CONSUMER' | 'UNSPECIFIED';
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root span. */
  readonly parentSpanId: string;
  readonly attributes: Attributes;
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code: 'UNSET' | 'OK' | 'ERROR'; readonly message: string };
  readonly durationMs: number;
  readonly scope: string;
  readonly service: string;
}

export interface CollectedPoint {
  readonly metric: string;
  readonly unit: string;
  readonly attributes: Attributes;
  readonly count: number;
  readonly sum: number;
  readonly bounds: readonly number[];
}

export class OtlpCollector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = [];
  readonly points: CollectedPoint[] = [];
  /** Every request body as it came: what a test greps for planted secrets. */
  readonly bodies: string[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<OtlpCollector> {
    const server = createServer((request, response) => {
      void readBody(request).then((body) => {
        collector.#take(request.url ?? '', body);
        response.setHeader('content-type', 'application/json');
        response.end('{}');
      });
    });
    const collector = new OtlpCollector(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  /** Base endpoint, for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Waits until `ready` holds. Throws at the deadline, with what has come so far. */
  async until(ready: (spans: readonly CollectedSpan[]) => boolean, deadlineMs = 30_000): Promise<void> {
    const end = Date.now() + deadlineMs;
    while (!ready(this.spans)) {
      if (Date.now() > end) {
        const seen = this.spans.map((span) => `${span.kind} ${span.name}`).join(', ');
        throw new Error(`Expected spans did not arrive within ${deadlineMs} ms; seen: ${seen || 'none'}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(url: string, body: string): void {
    this.bodies.push(body);
    const document = JSON.parse(body) as OtlpDocument;
    if (url.endsWith('/v1/traces')) this.spans.push(...flattenSpans(document));
    if (url.endsWith('/v1/metrics')) this.points.push(...flattenPoints(document));
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'] as const;
const STATUSES = ['UNSET', 'OK', 'ERROR'] as const;

function flattenSpans(document: OtlpDocument): CollectedSpan[] {
  const spans: CollectedSpan[] = [];
  for (const resourceSpans of document.resourceSpans ?? []) {
    const service = String(attributesOf(resourceSpans.resource?.attributes)['service.name'] ?? '');
    for (const scopeSpans of resourceSpans.scopeSpans ?? []) {
      for (const span of scopeSpans.spans ?? []) {
        spans.push({
          name: span.name,
          kind: KINDS[span.kind ?? 0] ?? 'UNSPECIFIED',
          traceId: span.traceId,
          spanId: span.spanId,
          parentSpanId: span.parentSpanId ?? '',
          attributes: attributesOf(span.attributes),
          events: (span.events ?? []).map((event) => ({
            name: event.name,
            attributes: attributesOf(event.attributes),
          })),
          links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
          status: { code: STATUSES[span.status?.code ?? 0] ?? 'UNSET', message: span.status?.message ?? '' },
          durationMs: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
          scope: scopeSpans.scope?.name ?? '',
          service,
        });
      }
    }
  }
  return spans;
}

function flattenPoints(document: OtlpDocument): CollectedPoint[] {
  const points: CollectedPoint[] = [];
  for (const { scopeMetrics } of document.resourceMetrics ?? []) {
    for (const { metrics } of scopeMetrics ?? []) {
      for (const metric of metrics ?? []) {
        for (const point of metric.histogram?.dataPoints ?? metric.sum?.dataPoints ?? []) {
          points.push({
            metric: metric.name,
            unit: metric.unit ?? '',
            attributes: attributesOf(point.attributes),
            count: Number(point.count ?? 0),
            sum: Number(point.sum ?? point.asInt ?? point.asDouble ?? 0),
            bounds: point.explicitBounds ?? [],
          });
        }
      }
    }
  }
  return points;
}

const attributesOf = (list: OtlpKeyValue[] | undefined) => readAttributes(list) as Attributes;

interface OtlpKeyValue {
  readonly key: string;
  readonly value?: unknown;
}

interface OtlpSpan {
  readonly name: string;
  readonly kind?: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: OtlpKeyValue[];
  readonly events?: readonly { readonly name: string; readonly attributes?: OtlpKeyValue[] }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

interface OtlpPoint {
  readonly attributes?: OtlpKeyValue[];
  readonly count?: number | string;
  readonly sum?: number;
  readonly asInt?: number | string;
  readonly asDouble?: number;
  readonly explicitBounds?: readonly number[];
}

interface OtlpDocument {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: OtlpKeyValue[] };
    readonly scopeSpans?: readonly {
      readonly scope?: { readonly name?: string };
      readonly spans?: readonly OtlpSpan[];
    }[];
  }[];
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics?: readonly {
      readonly metrics?: readonly {
        readonly name: string;
        readonly unit?: string;
        readonly histogram?: { readonly dataPoints?: readonly OtlpPoint[] };
        readonly sum?: { readonly dataPoints?: readonly OtlpPoint[] };
      }[];
    }[];
  }[];
}
