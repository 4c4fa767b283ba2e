/**
 * The messages of an `ExportTraceServiceRequest` and an `ExportLogsServiceRequest`, OTLP 1.x: each field with its number
 * in protobuf and its name in JSON. Both forms are read, and protobuf is written, by this table. Sources:
 * opentelemetry/proto/trace/v1/trace.proto, logs/v1/logs.proto, resource.proto, common.proto.
 */
import type { HrTime } from '@opentelemetry/api';

/** Attributes as received; values of any OTLP type. */
export type ReceivedAttributes = Record<string, unknown>;

/** How a field is written; `id` is bytes in protobuf and hex digits in JSON, `time` a fixed64 of nanoseconds. */
export type FieldKind =
  | 'text'
  | 'id'
  | 'uint32'
  | 'fixed32'
  | 'time'
  | 'any'
  | 'attributes'
  | 'message'
  | 'list';

/** A field whose value is a `V`. */
export interface Field<V = unknown> {
  readonly number: number;
  readonly kind: FieldKind;
  /** Type of a message, or of those in a list. */
  readonly type?: MessageType | undefined;
  /** The value of an absent field. */
  readonly absent: () => V;
}

/** Fields by name. */
export type MessageType = Readonly<Record<string, Field>>;

/** The object that a message is read into. */
export type MessageOf<T extends MessageType> = { -readonly [K in keyof T]: ReturnType<T[K]['absent']> };

/** A message without any field. */
export function emptyMessage<T extends MessageType>(type: T): MessageOf<T> {
  const message: Record<string, unknown> = {};
  for (const name in type) message[name] = type[name]?.absent();
  return message as MessageOf<T>;
}

const text = (number: number): Field<string> => ({ number, kind: 'text', absent: () => '' });
const id = (number: number): Field<string> => ({ number, kind: 'id', absent: () => '' });
const uint32 = (number: number): Field<number> => ({ number, kind: 'uint32', absent: () => 0 });
const fixed32 = (number: number): Field<number> => ({ number, kind: 'fixed32', absent: () => 0 });
const time = (number: number): Field<HrTime> => ({ number, kind: 'time', absent: () => [0, 0] });
/** An `AnyValue`. */
const any = (number: number): Field<unknown> => ({ number, kind: 'any', absent: () => null });
const attributes = (number: number): Field<ReceivedAttributes> => ({
  number,
  kind: 'attributes',
  absent: () => ({}),
});

function one<T extends MessageType>(number: number, type: T): Field<MessageOf<T>> {
  return { number, kind: 'message', type, absent: () => emptyMessage(type) };
}

function list<T extends MessageType>(number: number, type: T): Field<MessageOf<T>[]> {
  return { number, kind: 'list', type, absent: () => [] };
}

export const STATUS = { message: text(2), code: uint32(3) };

export const EVENT = {
  timeUnixNano: time(1),
  name: text(2),
  attributes: attributes(3),
  droppedAttributesCount: uint32(4),
};

export const LINK = {
  traceId: id(1),
  spanId: id(2),
  traceState: text(3),
  attributes: attributes(4),
  droppedAttributesCount: uint32(5),
  flags: fixed32(6),
};

export const SPAN = {
  traceId: id(1),
  spanId: id(2),
  traceState: text(3),
  parentSpanId: id(4),
  name: text(5),
  kind: uint32(6),
  startTimeUnixNano: time(7),
  endTimeUnixNano: time(8),
  attributes: attributes(9),
  droppedAttributesCount: uint32(10),
  events: list(11, EVENT),
  droppedEventsCount: uint32(12),
  links: list(13, LINK),
  droppedLinksCount: uint32(14),
  status: one(15, STATUS),
  flags: fixed32(16),
};

export const OTLP_SCOPE = {
  name: text(1),
  version: text(2),
  attributes: attributes(3),
  droppedAttributesCount: uint32(4),
};

export const SCOPE_SPANS = { scope: one(1, OTLP_SCOPE), spans: list(2, SPAN), schemaUrl: text(3) };

export const RESOURCE = { attributes: attributes(1) };

export const RESOURCE_SPANS = {
  resource: one(1, RESOURCE),
  scopeSpans: list(2, SCOPE_SPANS),
  schemaUrl: text(3),
};

export const REQUEST = { resourceSpans: list(1, RESOURCE_SPANS) };

export const LOG_RECORD = {
  timeUnixNano: time(1),
  severityNumber: uint32(2),
  severityText: text(3),
  body: any(5),
  attributes: attributes(6),
  droppedAttributesCount: uint32(7),
  flags: fixed32(8),
  traceId: id(9),
  spanId: id(10),
  observedTimeUnixNano: time(11),
  eventName: text(12),
};

export const SCOPE_LOGS = { scope: one(1, OTLP_SCOPE), logRecords: list(2, LOG_RECORD), schemaUrl: text(3) };

export const RESOURCE_LOGS = {
  resource: one(1, RESOURCE),
  scopeLogs: list(2, SCOPE_LOGS),
  schemaUrl: text(3),
};

export const LOGS_REQUEST = { resourceLogs: list(1, RESOURCE_LOGS) };

/** Whether messages of this type are what a request is limited by: its spans or log records. */
export function isRecord(type: MessageType): boolean {
  return type === SPAN || type === LOG_RECORD;
}

/** Fields of `KeyValue`, `AnyValue`, `ArrayValue` and `KeyValueList`, which are read and written by hand. */
export const KEY_VALUE = { key: 1, value: 2 };
export const ANY_VALUE = { string: 1, bool: 2, int: 3, double: 4, array: 5, keyValueList: 6, bytes: 7 };
/** `values` of an `ArrayValue` or a `KeyValueList`. */
export const VALUES_FIELD = 1;

/** Sets one attribute; any name is safe, including `__proto__`. */
export function putAttribute(attributes: object, key: string, value: unknown): void {
  if (key !== '__proto__') (attributes as Record<string, unknown>)[key] = value;
  else
    Object.defineProperty(attributes, key, { value, enumerable: true, configurable: true, writable: true });
}
