import { randomBytes } from 'node:crypto';
import { encodeProtobuf } from './otlp-encode.ts';

/** One request of spans with ids of their own. */
export interface SpanRequest {
  readonly body: Buffer;
  /** Span ids in hex. */
  readonly ids: readonly string[];
}

/** A request in protobuf of so many spans. */
export function spanRequest(count: number, parts: object = {}): SpanRequest {
  const ids = Array.from({ length: count }, () => randomBytes(8).toString('hex'));
  const traceId = randomBytes(16).toString('hex');
  const startTimeUnixNano = String(BigInt(Date.now()) * 1_000_000n);
  const spans = ids.map((spanId) => ({ traceId, spanId, name: 'work', startTimeUnixNano, ...parts }));
  return { body: encodeProtobuf({ resourceSpans: [{ scopeSpans: [{ spans }] }] }), ids };
}
