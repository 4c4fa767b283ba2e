import { isUtf8 } from 'node:buffer';
import type { JsonObject } from '../../json/index.ts';
import { DecodeBudget } from './budget.ts';
import { malformed } from './decode-error.ts';
import type { DecodedRequest } from './decoded-request.ts';
import { checkJsonDepth } from './json-depth.ts';
import { expectId, expectList, expectObject, expectString, expectTime, expectUint32 } from './json-fields.ts';
import { readAttributes } from './json-values.ts';
import {
  contextOf,
  ReceivedSpan,
  receivedResource,
  receivedScope,
  type SpanOrigin,
  spanKindOf,
  statusOf,
} from './received-span.ts';

/**
 * Reads an `ExportTraceServiceRequest` in OTLP/JSON: ids as hex digits, enums as numbers, 64-bit integers as strings or
 * numbers, names in lowerCamelCase. Unknown fields are passed over.
 *
 * @throws DecodeError for what is not OTLP/JSON, or holds more than a request may.
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
