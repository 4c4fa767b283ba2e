import { createTraceState, type SpanContext, TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { MessageOf, REQUEST, SPAN } from './otlp-messages.ts';
import { hrDuration } from './time.ts';

/** Flag bits of a span or link: "remoteness is known" and "is remote". */
export const HAS_IS_REMOTE = 0x100;
export const IS_REMOTE = 0x200;

type Request = MessageOf<typeof REQUEST>;
type Scope = Request['resourceSpans'][number]['scopeSpans'][number]['scope'];

/** A received span, readable by the SDK's processors and exporters. */
export interface ReceivedSpan extends ReadableSpan {
  readonly traceId: string;
  readonly spanId: string;
}

/** The spans of a request, in its order. */
export function readRequestSpans({ resourceSpans }: Request): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource: { attributes }, schemaUrl: resourceUrl, scopeSpans }) => {
    const resource = receivedResource(attributes, resourceUrl);
    return scopeSpans.flatMap(({ scope, schemaUrl, spans }) => {
      const instrumentationScope = receivedScope(scope, schemaUrl);
      return spans.map((span) => receivedSpan(span, resource, instrumentationScope));
    });
  });
}

function receivedSpan(
  span: MessageOf<typeof SPAN>,
  resource: ReadableSpan['resource'],
  instrumentationScope: ReadableSpan['instrumentationScope'],
): ReceivedSpan {
  const { traceId, spanId, traceState, flags, startTimeUnixNano: startTime, endTimeUnixNano: endTime } = span;
  const context = toContext(traceId, spanId, traceState, flags);
  return {
    traceId,
    spanId,
    name: span.name,
    // OTLP's number is one higher; unspecified means internal.
    kind: span.kind >= 1 && span.kind <= 5 ? span.kind - 1 : 0,
    startTime,
    endTime,
    duration: hrDuration(startTime, endTime),
    ended: true,
    status: toStatus(span.status),
    attributes: span.attributes as ReadableSpan['attributes'],
    events: span.events.map(({ timeUnixNano, name, attributes, droppedAttributesCount }) => ({
      time: timeUnixNano,
      name,
      attributes: attributes as ReadableSpan['attributes'],
      ...(droppedAttributesCount === 0 ? {} : { droppedAttributesCount }),
    })),
    links: span.links.map((link) => ({
      context: toContext(link.traceId, link.spanId, link.traceState, link.flags),
      attributes: link.attributes as ReadableSpan['attributes'],
      droppedAttributesCount: link.droppedAttributesCount,
    })),
    droppedAttributesCount: span.droppedAttributesCount,
    droppedEventsCount: span.droppedEventsCount,
    droppedLinksCount: span.droppedLinksCount,
    resource,
    instrumentationScope,
    spanContext: () => context,
    ...(span.parentSpanId === '' ? {} : { parentSpanContext: toParent(span) }),
  };
}

function toParent({ traceId, parentSpanId, flags }: MessageOf<typeof SPAN>): SpanContext {
  const parent = { traceId, spanId: parentSpanId, traceFlags: TraceFlags.SAMPLED };
  const isKnown = (flags & HAS_IS_REMOTE) !== 0;
  return isKnown ? { ...parent, isRemote: (flags & IS_REMOTE) !== 0 } : parent;
}

/** A context of a span or link. It always counts as sampled: it was sent, and many SDKs omit the flag. */
function toContext(traceId: string, spanId: string, traceState: string, flags: number): SpanContext {
  const context = { traceId, spanId, traceFlags: (flags & 0xff) | TraceFlags.SAMPLED };
  return traceState === '' ? context : { ...context, traceState: createTraceState(traceState) };
}

/** A resource as in the SDK, without pending attributes. */
export function receivedResource(
  attributes: Record<string, unknown>,
  schemaUrl: string,
): ReadableSpan['resource'] {
  const resource = {
    attributes,
    ...(schemaUrl === '' ? {} : { schemaUrl }),
    asyncAttributesPending: false,
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource as unknown as ReadableSpan['resource'];
}

/** A scope as in the SDK. Absent parts stay absent, so that rows equal those written in process. */
function receivedScope(scope: Scope, schemaUrl: string): ReadableSpan['instrumentationScope'] {
  const { name, version, attributes, droppedAttributesCount } = scope;
  return {
    name,
    ...(version === '' ? {} : { version }),
    ...(schemaUrl === '' ? {} : { schemaUrl }),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    ...(droppedAttributesCount === 0 ? {} : { droppedAttributesCount }),
  };
}

/** A status; an empty message counts as none, because they are the same on the wire. */
function toStatus({ code, message }: MessageOf<typeof SPAN>['status']): ReadableSpan['status'] {
  const known = code === 1 || code === 2 ? code : 0;
  return message === '' ? { code: known } : { code: known, message };
}
