import { isUtf8 } from 'node:buffer';
import type { JsonObject } from '../json/index.ts';
import { DecodeBudget, MAX_VALUE_DEPTH } from './budget.ts';
import { type DecodedLogs, type DecodedRequest, malformed } from './decode-error.ts';
import {
  expectDouble,
  expectInt64,
  expectList,
  expectObject,
  expectString,
  expectTime,
  expectUint32,
  wrong,
} from './json-fields.ts';
import {
  emptyMessage,
  type Field,
  isRecord,
  LOGS_REQUEST,
  type MessageOf,
  type MessageType,
  putAttribute,
  REQUEST,
  type ReceivedAttributes,
} from './otlp-messages.ts';
import { listLogs } from './received-log.ts';
import { readRequestSpans } from './received-span.ts';

/** Maximum nesting of JSON; the deepest value kept needs about 600 levels. */
const MAX_JSON_DEPTH = 1000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Refuses deeply nested JSON before parsing: a few megabytes of `[` would take hundreds of megabytes.
 * @throws DecodeError
 */
function checkJsonDepth(body: Buffer): void {
  let depth = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === QUOTE) at = endOfString(body, at + 1);
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > MAX_JSON_DEPTH) throw malformed(`The JSON is nested deeper than ${MAX_JSON_DEPTH} levels`);
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
  }
}

/** Index of the quote that ends a string, or the end of the body. */
function endOfString(body: Buffer, start: number): number {
  for (let from = start; ; ) {
    const quote = body.indexOf(QUOTE, from);
    if (quote === -1) return body.length;
    let backslashes = 0;
    for (let at = quote - 1; at >= start && body[at] === BACKSLASH; at -= 1) backslashes += 1;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}

/**
 * Reads an `ExportTraceServiceRequest` in OTLP/JSON: ids as hex digits, enums as numbers, 64-bit integers as strings or
 * numbers, names in lowerCamelCase or as in the .proto files. Unknown fields are skipped.
 *
 * @throws DecodeError for invalid or oversized requests.
 */
export function decodeJson(body: Buffer, maxSpans: number): DecodedRequest {
  const budget = new DecodeBudget(maxSpans);
  const request = readMessage(readRequest(body), REQUEST, budget);
  return { spans: readRequestSpans(request), items: budget.items };
}

/** Reads an `ExportLogsServiceRequest` like {@link decodeJson}. @throws DecodeError for invalid or oversized requests. */
export function decodeLogsJson(body: Buffer, maxRecords: number): DecodedLogs {
  const budget = new DecodeBudget(maxRecords);
  const request = readMessage(readRequest(body), LOGS_REQUEST, budget);
  return { logs: listLogs(request), items: budget.items };
}

function parse(body: Buffer): unknown {
  if (!isUtf8(body)) throw malformed('The JSON is not valid UTF-8');
  checkJsonDepth(body);
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    // The parser's message quotes the body.
    throw malformed('The body is not JSON');
  }
}

const readRequest = (body: Buffer): JsonObject => expectObject(parse(body), 'the request');

/** Names as in the .proto files of those that differ in lowerCamelCase, made when asked for. */
const PROTO_NAMES = new Map<string, string>();

/** A field by its name in lowerCamelCase, else by that of the .proto files: readers of protobuf's JSON take either. */
function findField(json: JsonObject, name: string): unknown {
  const value = json[name];
  if (isThere(value)) return value;
  let proto = PROTO_NAMES.get(name);
  if (proto === undefined) {
    proto = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    PROTO_NAMES.set(name, proto);
  }
  return json[proto];
}

/** Absent and null fields have their default, as in protobuf's JSON mapping; a wrong type is an error. */
function readMessage<T extends MessageType>(json: JsonObject, type: T, budget: DecodeBudget): MessageOf<T> {
  const message: Record<string, unknown> = emptyMessage(type);
  for (const name in type) {
    const value = findField(json, name);
    if (isThere(value)) message[name] = readField(value, name, type[name] as Field, budget);
  }
  return message as MessageOf<T>;
}

function readField(value: unknown, name: string, { kind, type = {} }: Field, budget: DecodeBudget): unknown {
  switch (kind) {
    case 'text':
      return expectString(value, name);
    case 'id':
      // Hex digits in any case; OTLP/JSON does not use base64 for ids. Other formats are checked later.
      return expectString(value, name).toLowerCase();
    case 'uint32':
    case 'fixed32':
      return expectUint32(value, name);
    case 'time':
      return expectTime(value, name);
    case 'any':
      return readAnyValue(value, budget, 0);
    case 'attributes':
      return readAttributes(value, budget, 0);
    case 'message':
      return readMessage(expectObject(value, name), type, budget);
    case 'list':
      return expectList(value, name).map((item) => {
        if (isRecord(type)) budget.takeRecord();
        else budget.takeItem();
        return readMessage(expectObject(item, `${name}[]`), type, budget);
      });
  }
}

/** Reads a list of `KeyValue` into a record; the last value of a duplicate key wins. */
function readAttributes(list: unknown, budget: DecodeBudget, depth: number): ReceivedAttributes {
  const into: ReceivedAttributes = {};
  for (const item of expectList(list, 'attributes')) {
    budget.takeItem();
    const { key, value } = expectObject(item, 'attributes[]');
    putAttribute(into, expectString(key, 'key'), readAnyValue(value, budget, depth));
  }
  return into;
}

/** Reads one `AnyValue`; an empty one is null. */
function readAnyValue(json: unknown, budget: DecodeBudget, depth: number): unknown {
  if (depth >= MAX_VALUE_DEPTH) return null;
  const any = expectObject(json, 'value');
  // An AnyValue has one of these fields; unknown ones are skipped.
  const text = findField(any, 'stringValue');
  if (isThere(text)) return expectString(text, 'stringValue');
  const whole = findField(any, 'intValue');
  if (isThere(whole)) return expectInt64(whole, 'intValue');
  const flag = findField(any, 'boolValue');
  if (isThere(flag)) return readBool(flag);
  const number = findField(any, 'doubleValue');
  if (isThere(number)) return expectDouble(number, 'doubleValue');
  const list = findField(any, 'arrayValue');
  if (isThere(list)) {
    return expectList(expectObject(list, 'arrayValue').values, 'arrayValue.values').map((item) => {
      budget.takeItem();
      return readAnyValue(item, budget, depth + 1);
    });
  }
  const members = findField(any, 'kvlistValue');
  if (isThere(members)) return readAttributes(expectObject(members, 'kvlistValue').values, budget, depth + 1);
  const bytes = findField(any, 'bytesValue');
  if (isThere(bytes)) return new Uint8Array(Buffer.from(expectString(bytes, 'bytesValue'), 'base64'));
  return null;
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function readBool(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw wrong('boolValue', 'true or false', value);
}
