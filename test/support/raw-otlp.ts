/** OTLP/JSON written by hand, as a sender without any SDK does. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { keyValues } from './otlp-encode.ts';

export type RawValue = string | number | boolean | readonly RawValue[] | { readonly [key: string]: RawValue };

export interface RawSpan {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly parentSpanId?: string;
  readonly name?: string;
  readonly kind?: number;
  readonly attributes?: Readonly<Record<string, RawValue>>;
  readonly events?: readonly {
    readonly name: string;
    readonly attributes?: Readonly<Record<string, RawValue>>;
  }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code: number; readonly message?: string };
}

/** A request with one resource and one scope. Ids and times that are not given are made. */
export function rawRequest(
  spans: readonly RawSpan[],
  resource: Readonly<Record<string, RawValue>> = { 'service.name': 'raw' },
  scope: { readonly name: string; readonly attributes?: Readonly<Record<string, RawValue>> } = {
    name: 'raw',
  },
): object {
  const now = BigInt(Date.now()) * 1_000_000n;
  return {
    resourceSpans: [
      {
        resource: { attributes: keyValues(resource) },
        scopeSpans: [
          {
            scope: { name: scope.name, attributes: keyValues(scope.attributes ?? {}) },
            spans: spans.map((span) => ({
              traceId: span.traceId ?? newTraceId(),
              spanId: span.spanId ?? newSpanId(),
              ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
              name: span.name ?? 'span',
              kind: span.kind ?? 1,
              startTimeUnixNano: String(now - 2_000_000n),
              endTimeUnixNano: String(now),
              attributes: keyValues(span.attributes ?? {}),
              events: (span.events ?? []).map(({ name, attributes }) => ({
                timeUnixNano: String(now),
                name,
                attributes: keyValues(attributes ?? {}),
              })),
              links: span.links ?? [],
              status: span.status ?? {},
            })),
          },
        ],
      },
    ],
  };
}

/** Sends a request once. */
export function postTraces(endpoint: string, request: object): Promise<Response> {
  return fetch(`${endpoint}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body: gzipSync(JSON.stringify(request)),
  });
}

/** Sends a request until it is taken, as the specification asks of a sender. */
export async function deliver(endpoint: string, request: object, timeoutMs = 120_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let last = '';
  while (Date.now() < deadline) {
    try {
      const response = await postTraces(endpoint, request);
      const body = await response.text();
      if (response.ok) return;
      last = `${response.status} ${body}`;
    } catch (error) {
      last = String(error);
    }
    await sleep(50);
  }
  throw new Error(`Not taken within ${timeoutMs} ms: ${last}`);
}

export const newTraceId = () => randomBytes(16).toString('hex');
export const newSpanId = () => randomBytes(8).toString('hex');
