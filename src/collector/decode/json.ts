import { isUtf8 } from 'node:buffer';
import type { JsonObject } from '../../json/index.ts';
import { DecodeBudget, MAX_VALUE_DEPTH } from './budget.ts';
import { malformed } from './decode-error.ts';
import type { DecodedRequest } from './decoded-request.ts';
import {
  expectDouble,
  expectId,
  expectInt64,
  expectList,
  expectObject,
  expectString,
  expectTime,
  expectUint32,
  wrong,
} from './json-fields.ts';
import {
  contextOf,
  putAttribute,
  type ReceivedAttributes,
  ReceivedSpan,
  receivedResource,
  receivedScope,
  type SpanOrigin,
  spanKindOf,
  statusOf,
} from './received-span.ts';

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
 * numbers, names in lowerCamelCase. Unknown fields are skipped.
 *
 * @throws DecodeError for invalid or oversized requests.
 */
export function decodeJson(body: Buffer, maxSpans: number): DecodedRequest {
  const budget = new DecodeBudget(maxSpans);
  const spans: ReceivedSpan[] = [];
  const { resourceSpans } = expectObject(parse(body), 'the request');
  for (const item of expectList(resourceSpans, 'resourceSpans')) {
    budget.takeItem();
    const { resource: described, scopeSpans, schemaUrl } = expectObject(item, 'resourceSpans[]');
    const { attributes } = expectObject(described, 'resource');
    const resource = receivedResource(
      readAttributes(attributes, {}, budget),
      expectString(schemaUrl, 'schemaUrl'),
    );
    for (const part of expectList(scopeSpans, 'scopeSpans')) {
      budget.takeItem();
      readScopeSpans(expectObject(part, 'scopeSpans[]'), resource, spans, budget);
    }
  }
  return { spans, items: budget.items };
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

function readScopeSpans(
  json: JsonObject,
  resource: SpanOrigin['resource'],
  spans: ReceivedSpan[],
  budget: DecodeBudget,
): void {
  const { name, version, attributes, droppedAttributesCount } = expectObject(json.scope, 'scope');
  const scope = receivedScope({
    name: expectString(name, 'scope.name'),
    version: expectString(version, 'scope.version'),
    schemaUrl: expectString(json.schemaUrl, 'schemaUrl'),
    attributes: readAttributes(attributes, {}, budget),
    droppedAttributesCount: expectUint32(droppedAttributesCount, 'scope.droppedAttributesCount'),
  });
  for (const span of expectList(json.spans, 'spans')) {
    budget.takeSpan();
    spans.push(readSpan(expectObject(span, 'spans[]'), new ReceivedSpan({ resource, scope }), budget));
  }
}

function readSpan(json: JsonObject, span: ReceivedSpan, budget: DecodeBudget): ReceivedSpan {
  span.traceId = expectId(json.traceId, 'traceId');
  span.spanId = expectId(json.spanId, 'spanId');
  span.traceState = expectString(json.traceState, 'traceState');
  span.name = expectString(json.name, 'name');
  span.kind = spanKindOf(expectUint32(json.kind, 'kind'));
  span.startTime = expectTime(json.startTimeUnixNano, 'startTimeUnixNano');
  span.endTime = expectTime(json.endTimeUnixNano, 'endTimeUnixNano');
  span.flags = expectUint32(json.flags, 'flags');
  span.setParent(expectId(json.parentSpanId, 'parentSpanId'));
  span.droppedAttributesCount = expectUint32(json.droppedAttributesCount, 'droppedAttributesCount');
  span.droppedEventsCount = expectUint32(json.droppedEventsCount, 'droppedEventsCount');
  span.droppedLinksCount = expectUint32(json.droppedLinksCount, 'droppedLinksCount');
  readAttributes(json.attributes, span.attributes, budget);
  const { code, message } = expectObject(json.status, 'status');
  span.status = statusOf(expectUint32(code, 'status.code'), expectString(message, 'status.message'));
  for (const event of expectList(json.events, 'events'))
    readEvent(expectObject(event, 'events[]'), span, budget);
  for (const link of expectList(json.links, 'links')) readLink(expectObject(link, 'links[]'), span, budget);
  return span;
}

function readEvent(json: JsonObject, span: ReceivedSpan, budget: DecodeBudget): void {
  budget.takeItem();
  const dropped = expectUint32(json.droppedAttributesCount, 'droppedAttributesCount');
  span.events.push({
    time: expectTime(json.timeUnixNano, 'timeUnixNano'),
    name: expectString(json.name, 'name'),
    attributes: readAttributes(json.attributes, {}, budget),
    ...(dropped === 0 ? {} : { droppedAttributesCount: dropped }),
  });
}

function readLink(json: JsonObject, span: ReceivedSpan, budget: DecodeBudget): void {
  budget.takeItem();
  span.links.push({
    context: contextOf(
      expectId(json.traceId, 'traceId'),
      expectId(json.spanId, 'spanId'),
      expectString(json.traceState, 'traceState'),
      expectUint32(json.flags, 'flags'),
    ),
    attributes: readAttributes(json.attributes, {}, budget),
    droppedAttributesCount: expectUint32(json.droppedAttributesCount, 'droppedAttributesCount'),
  });
}

/** Reads a list of `KeyValue` into a record; the last value of a duplicate key wins. */
function readAttributes<T extends object>(list: unknown, into: T, budget: DecodeBudget, depth = 0): T {
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
  if (isThere(any.stringValue)) return expectString(any.stringValue, 'stringValue');
  if (isThere(any.intValue)) return expectInt64(any.intValue, 'intValue');
  if (isThere(any.boolValue)) return boolOf(any.boolValue);
  if (isThere(any.doubleValue)) return expectDouble(any.doubleValue, 'doubleValue');
  if (isThere(any.arrayValue)) {
    return expectList(expectObject(any.arrayValue, 'arrayValue').values, 'arrayValue.values').map((item) => {
      budget.takeItem();
      return readAnyValue(item, budget, depth + 1);
    });
  }
  if (isThere(any.kvlistValue)) {
    const values: ReceivedAttributes = {};
    return readAttributes(expectObject(any.kvlistValue, 'kvlistValue').values, values, budget, depth + 1);
  }
  if (isThere(any.bytesValue)) {
    return new Uint8Array(Buffer.from(expectString(any.bytesValue, 'bytesValue'), 'base64'));
  }
  return null;
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function boolOf(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw wrong('boolValue', 'true or false', value);
}
