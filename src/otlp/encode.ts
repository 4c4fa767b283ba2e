import type { SpanContext } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { MAX_VALUE_DEPTH } from './budget.ts';
import {
  ANY_VALUE,
  EVENT,
  KEY_VALUE,
  LINK,
  OTLP_SCOPE,
  REQUEST,
  RESOURCE,
  RESOURCE_SPANS,
  SCOPE_SPANS,
  SPAN,
  STATUS,
  VALUES_FIELD,
} from './otlp-messages.ts';
import { HAS_IS_REMOTE, IS_REMOTE } from './received-span.ts';
import { WireWriter } from './wire-writer.ts';

/** Values of one span; what exceeds it, e.g. in a structure that contains itself twice, is written as null. */
const MAX_VALUES = 100_000;

/** A scope may have attributes, which the SDK's types do not declare. */
type Scope = ReadableSpan['instrumentationScope'] & {
  readonly attributes?: object | undefined;
  readonly droppedAttributesCount?: number | undefined;
};

/**
 * Writes spans as an `ExportTraceServiceRequest` of OTLP 1.x in protobuf, in their order. Never throws: a value that
 * OTLP has no form for, such as a function, is written as text.
 */
export function encodeProtobuf(spans: readonly ReadableSpan[]): Buffer {
  const encoder = new Encoder();
  for (let at = 0; at < spans.length; ) at = encoder.resourceSpans(spans, at);
  return encoder.writer.written;
}

class Encoder {
  readonly writer = new WireWriter();
  #values = 0;

  /** Writes the spans from `at` on that share a resource. @returns the index of the first one that does not. */
  resourceSpans(spans: readonly ReadableSpan[], at: number): number {
    const { writer } = this;
    const { resource } = spans[at] as ReadableSpan;
    const start = writer.open(REQUEST.resourceSpans.number);
    const message = writer.open(RESOURCE_SPANS.resource.number);
    this.#attributes(RESOURCE.attributes.number, resource.attributes);
    writer.close(message);
    let next = at;
    while (spans[next]?.resource === resource) next = this.#scopeSpans(spans, next);
    if (resource.schemaUrl) writer.string(RESOURCE_SPANS.schemaUrl.number, resource.schemaUrl);
    writer.close(start);
    return next;
  }

  #scopeSpans(spans: readonly ReadableSpan[], at: number): number {
    const { writer } = this;
    const { resource, instrumentationScope } = spans[at] as ReadableSpan;
    const {
      name,
      version,
      schemaUrl,
      attributes = {},
      droppedAttributesCount,
    } = instrumentationScope as Scope;
    const start = writer.open(RESOURCE_SPANS.scopeSpans.number);
    const message = writer.open(SCOPE_SPANS.scope.number);
    this.#text(OTLP_SCOPE.name.number, name);
    this.#text(OTLP_SCOPE.version.number, version);
    this.#attributes(OTLP_SCOPE.attributes.number, attributes);
    this.#count(OTLP_SCOPE.droppedAttributesCount.number, droppedAttributesCount);
    writer.close(message);
    let next = at;
    for (; next < spans.length; next += 1) {
      const span = spans[next] as ReadableSpan;
      if (span.resource !== resource || span.instrumentationScope !== instrumentationScope) break;
      this.#span(span);
    }
    this.#text(SCOPE_SPANS.schemaUrl.number, schemaUrl);
    writer.close(start);
    return next;
  }

  #span(span: ReadableSpan): void {
    const { writer } = this;
    this.#values = 0;
    const context = span.spanContext();
    const parent = span.parentSpanContext;
    const start = writer.open(SCOPE_SPANS.spans.number);
    this.#context(context, SPAN);
    if (parent !== undefined) writer.hex(SPAN.parentSpanId.number, parent.spanId);
    this.#text(SPAN.name.number, span.name);
    writer.varint(SPAN.kind.number, span.kind + 1);
    writer.time(SPAN.startTimeUnixNano.number, span.startTime);
    writer.time(SPAN.endTimeUnixNano.number, span.endTime);
    this.#attributes(SPAN.attributes.number, span.attributes);
    this.#count(SPAN.droppedAttributesCount.number, span.droppedAttributesCount);
    for (const event of span.events) {
      const message = writer.open(SPAN.events.number);
      writer.time(EVENT.timeUnixNano.number, event.time);
      this.#text(EVENT.name.number, event.name);
      this.#attributes(EVENT.attributes.number, event.attributes ?? {});
      this.#count(EVENT.droppedAttributesCount.number, event.droppedAttributesCount);
      writer.close(message);
    }
    this.#count(SPAN.droppedEventsCount.number, span.droppedEventsCount);
    for (const link of span.links) {
      const message = writer.open(SPAN.links.number);
      this.#context(link.context, LINK);
      this.#attributes(LINK.attributes.number, link.attributes ?? {});
      this.#count(LINK.droppedAttributesCount.number, link.droppedAttributesCount);
      writer.fixed32(LINK.flags.number, toFlags(link.context, link.context.isRemote));
      writer.close(message);
    }
    this.#count(SPAN.droppedLinksCount.number, span.droppedLinksCount);
    const message = writer.open(SPAN.status.number);
    this.#text(STATUS.message.number, span.status.message);
    this.#count(STATUS.code.number, span.status.code);
    writer.close(message);
    writer.fixed32(SPAN.flags.number, toFlags(context, parent?.isRemote));
    writer.close(start);
  }

  #context({ traceId, spanId, traceState }: SpanContext, fields: typeof SPAN | typeof LINK): void {
    this.writer.hex(fields.traceId.number, traceId);
    this.writer.hex(fields.spanId.number, spanId);
    if (traceState !== undefined) this.#text(fields.traceState.number, traceState.serialize());
  }

  #text(field: number, text: unknown): void {
    if (text !== undefined && text !== null && text !== '') this.writer.string(field, String(text));
  }

  #count(field: number, count: number | undefined): void {
    if (count !== undefined && count > 0) this.writer.varint(field, count);
  }

  #attributes(field: number, attributes: object): void {
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== undefined) this.#keyValue(field, key, value, 0);
    }
  }

  #keyValue(field: number, key: string, value: unknown, depth: number): void {
    const start = this.writer.open(field);
    this.writer.string(KEY_VALUE.key, key);
    this.#anyValue(KEY_VALUE.value, value, depth);
    this.writer.close(start);
  }

  #anyValue(field: number, value: unknown, depth: number): void {
    const start = this.writer.open(field);
    this.#values += 1;
    if (this.#values <= MAX_VALUES && depth < MAX_VALUE_DEPTH) this.#content(value, depth);
    this.writer.close(start);
  }

  #content(value: unknown, depth: number): void {
    const { writer } = this;
    switch (typeof value) {
      case 'string':
        writer.string(ANY_VALUE.string, value);
        break;
      case 'boolean':
        writer.varint(ANY_VALUE.bool, value ? 1 : 0);
        break;
      case 'bigint':
        writer.int64(ANY_VALUE.int, value);
        break;
      case 'number':
        if (value >= 0 && value <= 0x7fffffff && Number.isInteger(value) && !Object.is(value, -0)) {
          writer.varint(ANY_VALUE.int, value);
        } else if (Number.isSafeInteger(value) && value !== 0) writer.int64(ANY_VALUE.int, BigInt(value));
        else writer.double(ANY_VALUE.double, value);
        break;
      case 'function':
      case 'symbol':
        writer.string(ANY_VALUE.string, `[${typeof value}]`);
        break;
      case 'object':
        if (value !== null) this.#structure(value, depth);
    }
  }

  #structure(value: object, depth: number): void {
    const { writer } = this;
    if (value instanceof Uint8Array) {
      writer.bytes(ANY_VALUE.bytes, value);
      return;
    }
    const start = writer.open(Array.isArray(value) ? ANY_VALUE.array : ANY_VALUE.keyValueList);
    if (Array.isArray(value)) for (const item of value) this.#anyValue(VALUES_FIELD, item, depth + 1);
    else {
      for (const [key, item] of Object.entries(value)) {
        if (item !== undefined) this.#keyValue(VALUES_FIELD, key, item, depth + 1);
      }
    }
    writer.close(start);
  }
}

function toFlags({ traceFlags }: SpanContext, isRemote: boolean | undefined): number {
  const known = isRemote === undefined ? 0 : HAS_IS_REMOTE;
  return (traceFlags & 0xff) | known | (isRemote === true ? IS_REMOTE : 0);
}
