import type { Attributes, SpanKind } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';

export interface SpanFixture {
  readonly name?: string;
  readonly scope?: string;
  readonly version?: string;
  readonly schemaUrl?: string | undefined;
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** How many attributes the span takes. @defaultValue any number */
  readonly limit?: number;
  readonly events?: readonly { readonly name: string; readonly attributes?: Attributes }[];
}

/** Records one span with the real SDK and gives back what an exporter gets. */
export function recordSpan(fixture: SpanFixture): ReadableSpan {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    spanLimits: { attributeCountLimit: fixture.limit ?? Number.POSITIVE_INFINITY },
  });
  const span = provider
    .getTracer(
      fixture.scope ?? 'test',
      fixture.version,
      fixture.schemaUrl === undefined ? {} : { schemaUrl: fixture.schemaUrl },
    )
    .startSpan(fixture.name ?? 'span', fixture.kind === undefined ? {} : { kind: fixture.kind });
  span.setAttributes(fixture.attributes ?? {});
  for (const event of fixture.events ?? []) span.addEvent(event.name, event.attributes);
  span.end();
  const [finished] = exporter.getFinishedSpans();
  if (finished === undefined) throw new Error('The SDK exported no span');
  return finished;
}
