import type { HrTime, Link } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import protobuf from 'protobufjs';

/** `opentelemetry/proto/collector/trace/v1/trace_service.proto` and what it imports, of OTLP 1.x. */
const PROTO = `syntax = "proto3";
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message InstrumentationScope { string name = 1; string version = 2; repeated KeyValue attributes = 3;
  uint32 dropped_attributes_count = 4; }
message Span { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4;
  fixed32 flags = 16; string name = 5; int32 kind = 6; fixed64 start_time_unix_nano = 7;
  fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10;
  repeated Event events = 11; uint32 dropped_events_count = 12; repeated Link links = 13;
  uint32 dropped_links_count = 14; Status status = 15; }
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3;
  uint32 dropped_attributes_count = 4; }
message Link { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4;
  uint32 dropped_attributes_count = 5; fixed32 flags = 6; }
message Status { string message = 2; int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3;
  double double_value = 4; ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7; } }
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
message ExportLogsServiceRequest { repeated ResourceLogs resource_logs = 1; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; string schema_url = 3; }
message ScopeLogs { InstrumentationScope scope = 1; repeated LogRecord log_records = 2; string schema_url = 3; }
message LogRecord { fixed64 time_unix_nano = 1; fixed64 observed_time_unix_nano = 11; int32 severity_number = 2;
  string severity_text = 3; AnyValue body = 5; repeated KeyValue attributes = 6; uint32 dropped_attributes_count = 7;
  fixed32 flags = 8; bytes trace_id = 9; bytes span_id = 10; string event_name = 12; }
message ExportTraceServiceResponse { PartialSuccess partial_success = 1; }
message PartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
message RpcStatus { int32 code = 1; string message = 2; repeated Any details = 3; }
message Any { string type_url = 1; bytes value = 2; }
message RetryInfo { Duration retry_delay = 1; }
message Duration { int64 seconds = 1; int32 nanos = 2; }`;

const ROOT = protobuf.parse(PROTO).root;
const REQUEST = ROOT.lookupType('ExportTraceServiceRequest');
const LOGS_REQUEST = ROOT.lookupType('ExportLogsServiceRequest');

/** An `ExportTraceServiceRequest` as OTLP/JSON says it. */
export interface RequestJson {
  readonly resourceSpans: readonly unknown[];
}

type Json = Record<string, unknown>;

/** Scopes may have attributes, of which the types of the SDK do not know. */
type ScopeWithAttributes = ReadableSpan['instrumentationScope'] & {
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly droppedAttributesCount?: number;
};

/** Spans as OTLP/JSON, each with a resource and scope of its own, written apart from any code that is tested. */
export function requestJson(spans: readonly ReadableSpan[]): RequestJson {
  return { resourceSpans: spans.map(resourceSpans) };
}

export function encodeJson(spans: readonly ReadableSpan[]): Buffer {
  return Buffer.from(JSON.stringify(requestJson(spans)));
}

/** The protobuf form of a document in OTLP/JSON. */
export function encodeProtobuf(request: RequestJson): Buffer {
  return Buffer.from(REQUEST.encode(REQUEST.fromObject(withBytes(request) as Json)).finish());
}

/** The protobuf form of log records in OTLP/JSON. */
export function encodeLogsProtobuf(request: object): Buffer {
  return Buffer.from(LOGS_REQUEST.encode(LOGS_REQUEST.fromObject(request as Json)).finish());
}

/** A request of one span with the attribute `deep`, a text within so many lists; protobufjs stops at some 50. */
export function encodeNestedLists(levels: number): Buffer {
  let value = lengthDelimited(1, Buffer.from('deep'));
  for (let i = 0; i < levels; i += 1) value = lengthDelimited(5, lengthDelimited(1, value));
  return encodeAttribute('deep', value);
}

/** A request of one span with the attribute `wide`, a list of so many empty values: two bytes for each. */
export function encodeWideList(length: number): Buffer {
  return encodeAttribute('wide', lengthDelimited(5, Buffer.alloc(2 * length, Buffer.from([0x0a, 0x00]))));
}

function encodeAttribute(key: string, value: Buffer): Buffer {
  const keyValue = Buffer.concat([lengthDelimited(1, Buffer.from(key)), lengthDelimited(2, value)]);
  const ids = [lengthDelimited(1, Buffer.alloc(16, 1)), lengthDelimited(2, Buffer.alloc(8, 1))];
  const span = lengthDelimited(2, Buffer.concat([...ids, lengthDelimited(9, keyValue)]));
  return lengthDelimited(1, lengthDelimited(2, span));
}

function lengthDelimited(field: number, body: Buffer): Buffer {
  const head = protobuf.Writer.create()
    .uint32(field * 8 + 2)
    .uint32(body.length)
    .finish();
  return Buffer.concat([head, body]);
}

/** A request as an object with 64-bit numbers as text and bytes as base64. */
export function requestObject(bytes: Uint8Array): Json {
  return REQUEST.toObject(REQUEST.decode(bytes), { longs: String, bytes: String, arrays: true });
}

/** Reads a request into messages of protobufjs. */
export function decodeRequest(bytes: Uint8Array): object {
  return REQUEST.decode(bytes);
}

/** Reads an answer of a collector. */
export function decodeMessage(
  name: 'ExportTraceServiceResponse' | 'RpcStatus' | 'RetryInfo',
  bytes: Uint8Array,
) {
  const type = ROOT.lookupType(name);
  return type.toObject(type.decode(bytes), { longs: Number }) as Json;
}

function resourceSpans(span: ReadableSpan): Json {
  const { resource } = span;
  const scope = span.instrumentationScope as ScopeWithAttributes;
  return {
    resource: { attributes: keyValues(resource.attributes) },
    schemaUrl: resource.schemaUrl,
    scopeSpans: [
      {
        scope: {
          name: scope.name,
          version: scope.version,
          attributes: keyValues(scope.attributes ?? {}),
          droppedAttributesCount: scope.droppedAttributesCount ?? 0,
        },
        schemaUrl: scope.schemaUrl,
        spans: [spanJson(span)],
      },
    ],
  };
}

function spanJson(span: ReadableSpan): Json {
  const context = span.spanContext();
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    traceState: context.traceState?.serialize(),
    parentSpanId: span.parentSpanContext?.spanId,
    flags: context.traceFlags | 0x100 | (span.parentSpanContext?.isRemote ? 0x200 : 0),
    name: span.name,
    kind: span.kind + 1,
    startTimeUnixNano: nanos(span.startTime),
    endTimeUnixNano: nanos(span.endTime),
    attributes: keyValues(span.attributes),
    droppedAttributesCount: span.droppedAttributesCount,
    events: span.events.map((event) => ({
      timeUnixNano: nanos(event.time),
      name: event.name,
      attributes: keyValues(event.attributes ?? {}),
      droppedAttributesCount: event.droppedAttributesCount ?? 0,
    })),
    droppedEventsCount: span.droppedEventsCount,
    links: span.links.map(linkJson),
    droppedLinksCount: span.droppedLinksCount,
    status: { code: span.status.code, message: span.status.message },
  };
}

function linkJson({ context, attributes, droppedAttributesCount }: Link): Json {
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    traceState: context.traceState?.serialize(),
    attributes: keyValues(attributes ?? {}),
    droppedAttributesCount: droppedAttributesCount ?? 0,
    flags: context.traceFlags,
  };
}

export function keyValues(attributes: object): Json[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

/** One `AnyValue` in OTLP/JSON. */
export function anyValue(value: unknown): Json {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'bigint') return { intValue: String(value) };
  if (typeof value === 'number') {
    const isInt64 = Number.isInteger(value) && !Object.is(value, -0) && Math.abs(value) < 2 ** 63;
    if (isInt64) return { intValue: String(BigInt(value)) };
    return { doubleValue: Object.is(value, -0) ? '-0' : Number.isFinite(value) ? value : String(value) };
  }
  if (value instanceof Uint8Array) return { bytesValue: Buffer.from(value).toString('base64') };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return value === null || value === undefined ? {} : { kvlistValue: { values: keyValues(value) } };
}

function nanos([seconds, rest]: HrTime): string {
  return String(BigInt(seconds) * 1_000_000_000n + BigInt(rest));
}

const IDS: ReadonlySet<string> = new Set(['traceId', 'spanId', 'parentSpanId']);

/** Ids as bytes instead of hex digits, and numbers for the words that JSON has for them. */
function withBytes(value: unknown, key = ''): unknown {
  if (typeof value === 'string' && IDS.has(key)) return Buffer.from(value, 'hex');
  if (key === 'doubleValue') return Number(value);
  if (Array.isArray(value)) return value.map((item) => withBytes(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withBytes(item, name)]));
}
