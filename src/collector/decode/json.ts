import { isUtf8 } from 'node:buffer';
import { Budget } from './budget.ts';
import { malformed } from './decode-error.ts';
import type { DecodedRequest } from './decoded-request.ts';
import { checkJsonDepth } from './json-depth.ts';
import { idOf, type JsonObject, listOf, objectOf, stringOf, timeOf, uint32Of } from './json-fields.ts';
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
  const budget = new Budget(maxSpans);
  const spans: ReceivedSpan[] = [];
  const { resourceSpans } = objectOf(parse(body), 'the request');
  for (const item of listOf(resourceSpans, 'resourceSpans')) {
    budget.takeItem();
    const { resource: described, scopeSpans, schemaUrl } = objectOf(item, 'resourceSpans[]');
    const { attributes } = objectOf(described, 'resource');
    const resource = receivedResource(
      readAttributes(attributes, {}, budget),
      stringOf(schemaUrl, 'schemaUrl'),
    );
    for (const part of listOf(scopeSpans, 'scopeSpans')) {
      budget.takeItem();
      readScopeSpans(objectOf(part, 'scopeSpans[]'), resource, spans, budget);
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
  budget: Budget,
): void {
  const { name, version, attributes, droppedAttributesCount } = objectOf(json.scope, 'scope');
  const scope = receivedScope({
    name: stringOf(name, 'scope.name'),
    version: stringOf(version, 'scope.version'),
    schemaUrl: stringOf(json.schemaUrl, 'schemaUrl'),
    attributes: readAttributes(attributes, {}, budget),
    droppedAttributesCount: uint32Of(droppedAttributesCount, 'scope.droppedAttributesCount'),
  });
  for (const span of listOf(json.spans, 'spans')) {
    budget.takeSpan();
    spans.push(readSpan(objectOf(span, 'spans[]'), new ReceivedSpan({ resource, scope }), budget));
  }
}

function readSpan(json: JsonObject, span: ReceivedSpan, budget: Budget): ReceivedSpan {
  span.traceId = idOf(json.traceId, 'traceId');
  span.spanId = idOf(json.spanId, 'spanId');
  span.traceState = stringOf(json.traceState, 'traceState');
  span.name = stringOf(json.name, 'name');
  span.kind = spanKindOf(uint32Of(json.kind, 'kind'));
  span.startTime = timeOf(json.startTimeUnixNano, 'startTimeUnixNano');
  span.endTime = timeOf(json.endTimeUnixNano, 'endTimeUnixNano');
  span.flags = uint32Of(json.flags, 'flags');
  span.setParent(idOf(json.parentSpanId, 'parentSpanId'));
  span.droppedAttributesCount = uint32Of(json.droppedAttributesCount, 'droppedAttributesCount');
  span.droppedEventsCount = uint32Of(json.droppedEventsCount, 'droppedEventsCount');
  span.droppedLinksCount = uint32Of(json.droppedLinksCount, 'droppedLinksCount');
  readAttributes(json.attributes, span.attributes, budget);
  const { code, message } = objectOf(json.status, 'status');
  span.status = statusOf(uint32Of(code, 'status.code'), stringOf(message, 'status.message'));
  for (const event of listOf(json.events, 'events')) readEvent(objectOf(event, 'events[]'), span, budget);
  for (const link of listOf(json.links, 'links')) readLink(objectOf(link, 'links[]'), span, budget);
  return span;
}

function readEvent(json: JsonObject, span: ReceivedSpan, budget: Budget): void {
  budget.takeItem();
  const dropped = uint32Of(json.droppedAttributesCount, 'droppedAttributesCount');
  span.events.push({
    time: timeOf(json.timeUnixNano, 'timeUnixNano'),
    name: stringOf(json.name, 'name'),
    attributes: readAttributes(json.attributes, {}, budget),
    ...(dropped === 0 ? {} : { droppedAttributesCount: dropped }),
  });
}

function readLink(json: JsonObject, span: ReceivedSpan, budget: Budget): void {
  budget.takeItem();
  span.links.push({
    context: contextOf(
      idOf(json.traceId, 'traceId'),
      idOf(json.spanId, 'spanId'),
      stringOf(json.traceState, 'traceState'),
      uint32Of(json.flags, 'flags'),
    ),
    attributes: readAttributes(json.attributes, {}, budget),
    droppedAttributesCount: uint32Of(json.droppedAttributesCount, 'droppedAttributesCount'),
  });
}
