import { deserialize } from 'node:v8';
import { createTraceState, type SpanContext } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';

/** Version of the format below. */
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
 * Reads spans in the form that earlier versions wrote: objects serialized by `node:v8`.
 * @throws Error when the format is unknown.
 */
export function decodeOldSpans(bytes: Buffer): ReadableSpan[] {
  const plain = deserialize(bytes) as PlainSpans;
  if (plain.form !== FORM) throw new Error(`Spans are of form ${plain.form}, and this version knows ${FORM}`);
  const resources = plain.resources.map(restoreResource);
  return plain.spans.map((span) => restoreSpan(span, resources, plain.scopes));
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
