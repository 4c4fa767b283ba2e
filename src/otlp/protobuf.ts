import { DecodeBudget, MAX_VALUE_DEPTH } from './budget.ts';
import type { DecodedLogs, DecodedRequest } from './decode-error.ts';
import {
  ANY_VALUE,
  emptyMessage,
  type Field,
  type FieldKind,
  isRecord,
  KEY_VALUE,
  LOGS_REQUEST,
  type MessageType,
  putAttribute,
  REQUEST,
  type ReceivedAttributes,
  VALUES_FIELD,
} from './otlp-messages.ts';
import { listLogs } from './received-log.ts';
import { readRequestSpans } from './received-span.ts';
import { hrTimeOfHalves } from './time.ts';
import { bytesTag, fixed32Tag, fixed64Tag, varintTag, WireReader } from './wire-reader.ts';

/**
 * Reads an `ExportTraceServiceRequest` of OTLP 1.x in protobuf: by hand, because a general decoder would build a message
 * for each attribute and value. Unknown fields are skipped; the last of a duplicate field wins.
 *
 * @throws DecodeError for invalid or oversized requests.
 */
export function decodeProtobuf(body: Buffer, maxSpans: number): DecodedRequest {
  const budget = new DecodeBudget(maxSpans);
  const request = emptyMessage(REQUEST);
  readMessage(new WireReader(body), body.length, REQUEST, request, budget);
  return { spans: readRequestSpans(request), items: budget.items };
}

/**
 * Reads an `ExportLogsServiceRequest` like {@link decodeProtobuf}.
 * @throws DecodeError for invalid or oversized requests.
 */
export function decodeLogsProtobuf(body: Buffer, maxRecords: number): DecodedLogs {
  const budget = new DecodeBudget(maxRecords);
  const request = emptyMessage(LOGS_REQUEST);
  readMessage(new WireReader(body), body.length, LOGS_REQUEST, request, budget);
  return { logs: listLogs(request), items: budget.items };
}

const TAG: Readonly<Record<FieldKind, (field: number) => number>> = {
  text: bytesTag,
  id: bytesTag,
  uint32: varintTag,
  fixed32: fixed32Tag,
  time: fixed64Tag,
  any: bytesTag,
  attributes: bytesTag,
  message: bytesTag,
  list: bytesTag,
};

const fieldsByTag = new Map<MessageType, ReadonlyMap<number, readonly [string, Field]>>();

function toFields(type: MessageType): ReadonlyMap<number, readonly [string, Field]> {
  let fields = fieldsByTag.get(type);
  if (fields === undefined) {
    fields = new Map(Object.entries(type).map((entry) => [TAG[entry[1].kind](entry[1].number), entry]));
    fieldsByTag.set(type, fields);
  }
  return fields;
}

function readMessage(
  reader: WireReader,
  to: number,
  type: MessageType,
  message: Record<string, unknown>,
  budget: DecodeBudget,
): void {
  const fields = toFields(type);
  while (reader.at < to) {
    const tag = reader.tag(to);
    const field = fields.get(tag);
    if (field === undefined) reader.skip(tag, to);
    else readField(reader, to, field, message, budget);
  }
}

function readField(
  reader: WireReader,
  to: number,
  [name, { kind, type = {} }]: readonly [string, Field],
  message: Record<string, unknown>,
  budget: DecodeBudget,
): void {
  switch (kind) {
    case 'text':
      message[name] = reader.string(to);
      break;
    case 'id':
      message[name] = reader.hex(to);
      break;
    case 'uint32':
      message[name] = reader.uint32(to);
      break;
    case 'fixed32':
      message[name] = reader.fixed32(to);
      break;
    case 'time':
      message[name] = hrTimeOfHalves(reader.fixed32(to), reader.fixed32(to));
      break;
    case 'any':
      message[name] = readAnyValue(reader, to, budget, 0);
      break;
    case 'attributes':
      readAttribute(reader, to, message[name] as object, budget, 0);
      break;
    case 'message':
      readMessage(reader, reader.length(to), type, message[name] as Record<string, unknown>, budget);
      break;
    case 'list': {
      const end = reader.length(to);
      if (isRecord(type)) budget.takeRecord();
      else budget.takeItem();
      const item = emptyMessage(type);
      (message[name] as unknown[]).push(item);
      readMessage(reader, end, type, item, budget);
    }
  }
}

const KEY = bytesTag(KEY_VALUE.key);
const VALUE = bytesTag(KEY_VALUE.value);
const STRING = bytesTag(ANY_VALUE.string);
const BOOL = varintTag(ANY_VALUE.bool);
const INT = varintTag(ANY_VALUE.int);
const DOUBLE = fixed64Tag(ANY_VALUE.double);
const ARRAY = bytesTag(ANY_VALUE.array);
const KEY_VALUE_LIST = bytesTag(ANY_VALUE.keyValueList);
const BYTES = bytesTag(ANY_VALUE.bytes);
const VALUES = bytesTag(VALUES_FIELD);

/** Reads one `KeyValue` into a record; the last value of a duplicate key wins. */
function readAttribute(
  reader: WireReader,
  end: number,
  into: object,
  budget: DecodeBudget,
  depth: number,
): void {
  const to = reader.length(end);
  budget.takeItem();
  let key = '';
  let value: unknown = null;
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag === KEY) key = reader.name(to);
    else if (tag === VALUE) value = readAnyValue(reader, to, budget, depth);
    else reader.skip(tag, to);
  }
  putAttribute(into, key, value);
}

/** Reads one `AnyValue`; an empty one is null. */
function readAnyValue(reader: WireReader, end: number, budget: DecodeBudget, depth: number): unknown {
  const to = reader.length(end);
  let value: unknown = null;
  if (depth >= MAX_VALUE_DEPTH) {
    reader.at = to;
    return value;
  }
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag === STRING) value = reader.string(to);
    else if (tag === BOOL) value = reader.int64(to) !== 0;
    else if (tag === INT) value = reader.int64(to);
    else if (tag === DOUBLE) value = reader.double(to);
    else if (tag === ARRAY) value = readArray(reader, to, budget, depth);
    else if (tag === KEY_VALUE_LIST) value = readKeyValueList(reader, to, budget, depth);
    else if (tag === BYTES) value = reader.copyOfBytes(to);
    else reader.skip(tag, to);
  }
  return value;
}

function readArray(reader: WireReader, end: number, budget: DecodeBudget, depth: number): unknown[] {
  const to = reader.length(end);
  const values: unknown[] = [];
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag !== VALUES) reader.skip(tag, to);
    else {
      budget.takeItem();
      values.push(readAnyValue(reader, to, budget, depth + 1));
    }
  }
  return values;
}

function readKeyValueList(
  reader: WireReader,
  end: number,
  budget: DecodeBudget,
  depth: number,
): ReceivedAttributes {
  const to = reader.length(end);
  const values: ReceivedAttributes = {};
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag === VALUES) readAttribute(reader, to, values, budget, depth + 1);
    else reader.skip(tag, to);
  }
  return values;
}
