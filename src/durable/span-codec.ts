import { deserialize, serialize } from 'node:v8';
import { createTraceState, type SpanContext } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';

/** Version of the format below; every change increments it, and older versions stay readable. */
const FORM = 1;

/** A span context without its methods. */
interface PlainContext extends Omit<SpanContext, 'traceState'> {
  readonly traceState?: string | undefined;
}

type Plain = Readonly<Record<string, unknown>>;

/** Spans as plain data. Resources and scopes, which a batch shares, are stored once. */
interface PlainSpans {
  readonly form: number;
  readonly resources: readonly Plain[];
  readonly scopes: readonly Plain[];
  readonly spans: readonly PlainSpan[];
}

interface PlainSpan extends Plain {
  readonly context: PlainContext;
  readonly parent?: PlainContext | undefined;
  readonly links: readonly (Plain & { readonly context: PlainContext })[];
  readonly resource: number;
  readonly scope: number;
}

/**
 * Encodes all data of `ReadableSpan`s with `v8.serialize`, which preserves what JSON loses: bytes, -0, NaN, infinities
 * and `undefined`. Later versions of Node can read it.
 */
export function encodeSpans(spans: readonly ReadableSpan[]): Buffer {
  const resources = new Map<object, number>();
  const scopes = new Map<object, number>();
  const plain = {
    form: FORM,
    spans: spans.map((span) => plainSpan(span, resources, scopes)),
    resources: [...resources.keys()].map((resource) => plainResource(resource as ReadableSpan['resource'])),
    scopes: [...scopes.keys()].map((scope) => ({ ...scope })),
  };
  try {
    return serialize(plain);
  } catch {
    // A value that cannot be cloned, such as a function: no exporter could send it either.
    return serialize(cloneable(plain));
  }
}

/**
 * Decodes the spans of {@link encodeSpans} for any exporter.
 * @throws Error when the format is unknown.
 */
export function decodeSpans(bytes: Buffer): ReadableSpan[] {
  const plain = deserialize(bytes) as PlainSpans;
  if (plain.form !== FORM) throw new Error(`Spans are of form ${plain.form}, and this version knows ${FORM}`);
  const resources = plain.resources.map(restoreResource);
  return plain.spans.map((span) => restoreSpan(span, resources, plain.scopes));
}

function plainSpan(
  span: ReadableSpan,
  resources: Map<object, number>,
  scopes: Map<object, number>,
): PlainSpan {
  const { name, kind, startTime, endTime, duration, ended, attributes, status } = span;
  const { droppedAttributesCount, droppedEventsCount, droppedLinksCount } = span;
  return {
    name,
    kind,
    context: plainContext(span.spanContext()),
    parent: span.parentSpanContext === undefined ? undefined : plainContext(span.parentSpanContext),
    startTime,
    endTime,
    duration,
    ended,
    status,
    attributes,
    events: span.events,
    links: span.links.map((link) => ({ ...link, context: plainContext(link.context) })),
    droppedAttributesCount,
    droppedEventsCount,
    droppedLinksCount,
    resource: indexIn(resources, span.resource),
    scope: indexIn(scopes, span.instrumentationScope),
  };
}

function plainContext({ traceState, ...context }: SpanContext): PlainContext {
  return traceState === undefined ? context : { ...context, traceState: traceState.serialize() };
}

function plainResource({ attributes, schemaUrl }: ReadableSpan['resource']): Plain {
  return { attributes, schemaUrl };
}

function indexIn(known: Map<object, number>, value: object): number {
  let index = known.get(value);
  if (index === undefined) {
    index = known.size;
    known.set(value, index);
  }
  return index;
}

function restoreSpan(
  plain: PlainSpan,
  resources: readonly unknown[],
  scopes: readonly Plain[],
): ReadableSpan {
  const { context, parent, links, resource, scope, ...rest } = plain;
  const spanContext = restoreContext(context);
  return {
    ...rest,
    spanContext: () => spanContext,
    ...(parent === undefined ? {} : { parentSpanContext: restoreContext(parent) }),
    links: links.map((link) => ({ ...link, context: restoreContext(link.context) })),
    resource: resources[resource],
    instrumentationScope: scopes[scope],
  } as unknown as ReadableSpan;
}

function restoreContext({ traceState, ...context }: PlainContext): SpanContext {
  return traceState === undefined ? context : { ...context, traceState: createTraceState(traceState) };
}

function restoreResource(plain: Plain): unknown {
  const attributes = plain.attributes as Record<string, unknown>;
  const resource = {
    attributes,
    ...(plain.schemaUrl === undefined ? {} : { schemaUrl: plain.schemaUrl }),
    asyncAttributesPending: false,
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource;
}

/** A copy in which values that cannot be cloned are text. */
function cloneable(value: unknown): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(cloneable);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cloneable(item)]));
}
