import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { FreeNames } from './free-names.ts';

/** Where `attributes` holds those of the instrumentation scope, as one object. */
const SCOPE_ATTRIBUTES = 'otel.scope.attributes';

/**
 * A scope as the API specification and OTLP know it. The types of the JavaScript SDK leave attributes out, its
 * exporters send them where a tracer provider sets them, and scopes of other languages bring them over OTLP.
 */
type Scope = ReadableSpan['instrumentationScope'] & {
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  readonly droppedAttributesCount?: number | undefined;
};

/**
 * Names what of the scope has no column, for `attributes`. Version and schema have names that OpenTelemetry gives for
 * formats other than OTLP, and a span that has them already keeps its own. Attributes of the scope stand together
 * under one name instead of flat beside those of the span, so none of theirs can meet one of the span's; where the
 * span has that very name, a free one is made of it.
 */
export function addScopeExtras(span: ReadableSpan, addExtra: (name: string, value: unknown) => void): void {
  const scope = span.instrumentationScope as Scope | undefined;
  if (scope === undefined) return;
  addExtra('otel.scope.version', scope.version);
  addExtra('otel.scope.schema_url', scope.schemaUrl);
  addExtra('otel.scope.dropped_attributes_count', scope.droppedAttributesCount);
  const { attributes } = scope;
  if (attributes === undefined || Object.keys(attributes).length === 0) return;
  addExtra(new FreeNames(span.attributes).take(SCOPE_ATTRIBUTES), attributes);
}
