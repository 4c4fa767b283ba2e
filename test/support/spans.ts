import type { Tracer } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';

export interface SpanSource {
  readonly service?: string | undefined;
  readonly resource?: Record<string, string | number | boolean | string[]> | undefined;
  readonly scope?: readonly [name: string, version?: string, schemaUrl?: string] | undefined;
}

/** Spans as the real SDK makes them. */
export function recordSpans(make: (tracer: Tracer) => void, source: SpanSource = {}): ReadableSpan[] {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': source.service ?? 'test', ...source.resource }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const [name, version, schemaUrl] = source.scope ?? ['test-scope'];
  make(provider.getTracer(name, version, schemaUrl === undefined ? {} : { schemaUrl }));
  return exporter.getFinishedSpans();
}

/** One span with these attributes. */
export function spanWith(attributes: Record<string, unknown>, source: SpanSource = {}): ReadableSpan {
  const [span] = recordSpans((tracer) => {
    tracer.startSpan('test', { attributes: attributes as never }).end();
  }, source);
  if (span === undefined) throw new Error('The SDK recorded no span');
  return span;
}

/**
 * The same span with other properties, for what SDK 2 does not let through and SDK 3 does: nested values, bytes, null.
 */
export function altered(
  span: ReadableSpan,
  properties: Partial<Record<keyof ReadableSpan, unknown>>,
): ReadableSpan {
  return new Proxy(span, {
    get: (target, key) => {
      if (Object.hasOwn(properties, key)) return properties[key as keyof ReadableSpan];
      const value = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
