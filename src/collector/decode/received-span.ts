import { createTraceState, type HrTime, type Link, type SpanContext, TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { hrDuration } from './time.ts';

/** Attributes as received; values of any OTLP type. */
export type ReceivedAttributes = Record<string, unknown>;
type TimedEvent = ReadableSpan['events'][number];

/** Flag bits of a span or link: "remoteness is known" and "is remote". */
const HAS_IS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

/** Data shared by the spans of one scope in a request. */
export interface SpanOrigin {
  readonly resource: ReadableSpan['resource'];
  readonly scope: ReadableSpan['instrumentationScope'];
}

/** A received span, readable by the SDK's processors and exporters. */
export class ReceivedSpan implements ReadableSpan {
  name = '';
  kind: ReadableSpan['kind'] = 0;
  traceId = '';
  spanId = '';
  traceState = '';
  flags = 0;
  startTime: HrTime = [0, 0];
  endTime: HrTime = [0, 0];
  status: ReadableSpan['status'] = { code: 0 };
  readonly attributes: ReadableSpan['attributes'] = {};
  readonly events: TimedEvent[] = [];
  readonly links: Link[] = [];
  readonly ended = true;
  parentSpanContext?: SpanContext;
  droppedAttributesCount = 0;
  droppedEventsCount = 0;
  droppedLinksCount = 0;
  readonly resource: ReadableSpan['resource'];
  readonly instrumentationScope: ReadableSpan['instrumentationScope'];
  #context: SpanContext | undefined;

  constructor({ resource, scope }: SpanOrigin) {
    this.resource = resource;
    this.instrumentationScope = scope;
  }

  get duration(): HrTime {
    return hrDuration(this.startTime, this.endTime);
  }

  /** Sets the parent. Call it after the trace id is set. */
  setParent(spanId: string): void {
    if (spanId === '') return;
    const parent = { traceId: this.traceId, spanId, traceFlags: TraceFlags.SAMPLED };
    const isKnown = (this.flags & HAS_IS_REMOTE) !== 0;
    this.parentSpanContext = isKnown ? { ...parent, isRemote: (this.flags & IS_REMOTE) !== 0 } : parent;
  }

  spanContext(): SpanContext {
    this.#context ??= contextOf(this.traceId, this.spanId, this.traceState, this.flags);
    return this.#context;
  }
}

/** A context of a span or link. It always counts as sampled: it was sent, and many SDKs omit the flag. */
export function contextOf(traceId: string, spanId: string, traceState: string, flags: number): SpanContext {
  const context = { traceId, spanId, traceFlags: (flags & 0xff) | TraceFlags.SAMPLED };
  return traceState === '' ? context : { ...context, traceState: createTraceState(traceState) };
}

/** A resource as in the SDK, without pending attributes. */
export function receivedResource(attributes: ReceivedAttributes, schemaUrl: string): SpanOrigin['resource'] {
  const resource = {
    attributes,
    ...(schemaUrl === '' ? {} : { schemaUrl }),
    asyncAttributesPending: false,
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource as unknown as SpanOrigin['resource'];
}

/** A scope on the wire: absent texts are empty, absent numbers zero. */
export interface ScopeParts {
  readonly name: string;
  readonly version: string;
  readonly schemaUrl: string;
  readonly attributes: ReceivedAttributes;
  readonly droppedAttributesCount: number;
}

/** A scope as in the SDK. Absent parts stay absent, so that rows equal those written in process. */
export function receivedScope(parts: ScopeParts): SpanOrigin['scope'] {
  const { name, version, schemaUrl, attributes, droppedAttributesCount } = parts;
  return {
    name,
    ...(version === '' ? {} : { version }),
    ...(schemaUrl === '' ? {} : { schemaUrl }),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    ...(droppedAttributesCount === 0 ? {} : { droppedAttributesCount }),
  } as SpanOrigin['scope'];
}

/** The kind of a span from OTLP's number, which is one higher; unspecified means internal. */
export function spanKindOf(kind: number): ReadableSpan['kind'] {
  return kind >= 1 && kind <= 5 ? kind - 1 : 0;
}

/** A status; an empty message counts as none, because they are the same on the wire. */
export function statusOf(code: number, message: string): ReadableSpan['status'] {
  const known = code === 1 || code === 2 ? code : 0;
  return message === '' ? { code: known } : { code: known, message };
}

/** Sets one attribute; any name is safe, including `__proto__`. */
export function putAttribute(attributes: object, key: string, value: unknown): void {
  if (key !== '__proto__') (attributes as Record<string, unknown>)[key] = value;
  else
    Object.defineProperty(attributes, key, { value, enumerable: true, configurable: true, writable: true });
}
