import { DecodeBudget } from './budget.ts';
import type { DecodedRequest } from './decoded-request.ts';
import { readAttribute } from './protobuf-values.ts';
import {
  contextOf,
  type ReceivedAttributes,
  ReceivedSpan,
  receivedResource,
  receivedScope,
  type SpanOrigin,
  spanKindOf,
  statusOf,
} from './received-span.ts';
import { hrTimeOfHalves } from './time.ts';
import { bytesTag, fixed32Tag, fixed64Tag, varintTag, WireReader } from './wire-reader.ts';

/**
 * Reads an `ExportTraceServiceRequest` of OTLP 1.x in protobuf: by hand, directly into spans, because a general decoder
 * would first build a tree of messages. Unknown fields are skipped; the last of a duplicate field wins.
 *
 * @throws DecodeError for invalid or oversized requests.
 */
export function decodeProtobuf(body: Buffer, maxSpans: number): DecodedRequest {
  const budget = new DecodeBudget(maxSpans);
  const reader = new WireReader(body);
  const spans: ReceivedSpan[] = [];
  const end = body.length;
  while (reader.at < end) {
    const tag = reader.tag(end);
    if (tag === bytesTag(1)) readResourceSpans(reader, end, spans, budget);
    else reader.skip(tag, end);
  }
  return { spans, items: budget.items };
}

// opentelemetry/proto/trace/v1/trace.proto: ResourceSpans and ScopeSpans
const SHARED = bytesTag(1);
const CHILDREN = bytesTag(2);
const SCHEMA_URL = bytesTag(3);

/** The fields next to the children of a `ResourceSpans` or `ScopeSpans`, in any order. */
interface Parts {
  readonly attributes: ReceivedAttributes;
  /** Scopes only, like name and version. */
  droppedAttributesCount: number;
  name: string;
  version: string;
  schemaUrl: string;
  /** Start of each child. */
  readonly children: number[];
}

function readParts(reader: WireReader, to: number, isScope: boolean, budget: DecodeBudget): Parts {
  const parts: Parts = {
    attributes: {},
    droppedAttributesCount: 0,
    name: '',
    version: '',
    schemaUrl: '',
    children: [],
  };
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag === CHILDREN) {
      parts.children.push(reader.at);
      reader.at = reader.length(to);
      if (isScope) budget.takeSpan();
      else budget.takeItem();
    } else if (tag === SHARED && isScope) readScope(reader, to, parts, budget);
    else if (tag === SHARED) readResource(reader, to, parts, budget);
    else if (tag === SCHEMA_URL) parts.schemaUrl = reader.string(to);
    else reader.skip(tag, to);
  }
  return parts;
}

function readResourceSpans(
  reader: WireReader,
  end: number,
  spans: ReceivedSpan[],
  budget: DecodeBudget,
): void {
  const to = reader.length(end);
  budget.takeItem();
  const { attributes, schemaUrl, children } = readParts(reader, to, false, budget);
  const resource = receivedResource(attributes, schemaUrl);
  for (const child of children) {
    reader.at = child;
    readScopeSpans(reader, to, resource, spans, budget);
  }
  reader.at = to;
}

function readScopeSpans(
  reader: WireReader,
  end: number,
  resource: SpanOrigin['resource'],
  spans: ReceivedSpan[],
  budget: DecodeBudget,
): void {
  const to = reader.length(end);
  const parts = readParts(reader, to, true, budget);
  const origin = { resource, scope: receivedScope(parts) };
  for (const child of parts.children) {
    reader.at = child;
    spans.push(readSpan(reader, to, new ReceivedSpan(origin), budget));
  }
}

function readResource(reader: WireReader, end: number, parts: Parts, budget: DecodeBudget): void {
  const to = reader.length(end);
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag === bytesTag(1)) readAttribute(reader, to, parts.attributes, budget);
    else reader.skip(tag, to);
  }
}

function readScope(reader: WireReader, end: number, parts: Parts, budget: DecodeBudget): void {
  const to = reader.length(end);
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag === bytesTag(1)) parts.name = reader.string(to);
    else if (tag === bytesTag(2)) parts.version = reader.string(to);
    else if (tag === bytesTag(3)) readAttribute(reader, to, parts.attributes, budget);
    else if (tag === varintTag(4)) parts.droppedAttributesCount = reader.uint32(to);
    else reader.skip(tag, to);
  }
}

function readSpan(reader: WireReader, end: number, span: ReceivedSpan, budget: DecodeBudget): ReceivedSpan {
  const to = reader.length(end);
  let parentSpanId = '';
  while (reader.at < to) {
    const tag = reader.tag(to);
    switch (tag) {
      case bytesTag(1):
        span.traceId = reader.hex(to);
        break;
      case bytesTag(2):
        span.spanId = reader.hex(to);
        break;
      case bytesTag(3):
        span.traceState = reader.string(to);
        break;
      case bytesTag(4):
        parentSpanId = reader.hex(to);
        break;
      case bytesTag(5):
        span.name = reader.string(to);
        break;
      case varintTag(6):
        span.kind = spanKindOf(reader.uint32(to));
        break;
      case fixed64Tag(7):
        span.startTime = hrTimeOfHalves(reader.fixed32(to), reader.fixed32(to));
        break;
      case fixed64Tag(8):
        span.endTime = hrTimeOfHalves(reader.fixed32(to), reader.fixed32(to));
        break;
      case bytesTag(9):
        readAttribute(reader, to, span.attributes, budget);
        break;
      case varintTag(10):
        span.droppedAttributesCount = reader.uint32(to);
        break;
      case bytesTag(11):
        readEvent(reader, to, span, budget);
        break;
      case varintTag(12):
        span.droppedEventsCount = reader.uint32(to);
        break;
      case bytesTag(13):
        readLink(reader, to, span, budget);
        break;
      case varintTag(14):
        span.droppedLinksCount = reader.uint32(to);
        break;
      case bytesTag(15):
        readStatus(reader, to, span);
        break;
      case fixed32Tag(16):
        span.flags = reader.fixed32(to);
        break;
      default:
        reader.skip(tag, to);
    }
  }
  span.setParent(parentSpanId);
  return span;
}

function readEvent(reader: WireReader, end: number, span: ReceivedSpan, budget: DecodeBudget): void {
  const to = reader.length(end);
  budget.takeItem();
  const event: { -readonly [K in keyof ReceivedSpan['events'][number]]: ReceivedSpan['events'][number][K] } =
    {
      time: [0, 0],
      name: '',
      attributes: {},
    };
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag === fixed64Tag(1)) event.time = hrTimeOfHalves(reader.fixed32(to), reader.fixed32(to));
    else if (tag === bytesTag(2)) event.name = reader.string(to);
    else if (tag === bytesTag(3)) readAttribute(reader, to, event.attributes as object, budget);
    else if (tag === varintTag(4)) event.droppedAttributesCount = reader.uint32(to);
    else reader.skip(tag, to);
  }
  span.events.push(event);
}

function readLink(reader: WireReader, end: number, span: ReceivedSpan, budget: DecodeBudget): void {
  const to = reader.length(end);
  budget.takeItem();
  const attributes: ReceivedSpan['attributes'] = {};
  let [traceId, spanId, traceState, droppedAttributesCount, flags] = ['', '', '', 0, 0];
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag === bytesTag(1)) traceId = reader.hex(to);
    else if (tag === bytesTag(2)) spanId = reader.hex(to);
    else if (tag === bytesTag(3)) traceState = reader.string(to);
    else if (tag === bytesTag(4)) readAttribute(reader, to, attributes, budget);
    else if (tag === varintTag(5)) droppedAttributesCount = reader.uint32(to);
    else if (tag === fixed32Tag(6)) flags = reader.fixed32(to);
    else reader.skip(tag, to);
  }
  const context = contextOf(traceId, spanId, traceState, flags);
  span.links.push({ context, attributes, droppedAttributesCount });
}

function readStatus(reader: WireReader, end: number, span: ReceivedSpan): void {
  const to = reader.length(end);
  let message = '';
  let code = 0;
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag === bytesTag(2)) message = reader.string(to);
    else if (tag === varintTag(3)) code = reader.uint32(to);
    else reader.skip(tag, to);
  }
  span.status = statusOf(code, message);
}
