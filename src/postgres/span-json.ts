import type { Link } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { isToldByColumns } from '../base/index.ts';
import { toPosition } from './columns.ts';
import { FreeNames, JsonWriter } from './json-writer.ts';
import { MARK_ATTRIBUTES, SANITIZED_ATTRIBUTE, TRUNCATED_ATTRIBUTE } from './marks.ts';
import type { SpanCells } from './span-cells.ts';
import { hrTimeToIso } from './time.ts';

type TimedEvent = ReadableSpan['events'][number];
type JsonColumn = 'attributes' | 'resource' | 'events' | 'links';

/** The JSON columns in the order of writing: `attributes` last, because it lists what was changed in the others. */
export const JSON_COLUMNS: readonly JsonColumn[] = ['events', 'links', 'resource', 'attributes'];

/** Entry of `attributes` that holds the attributes of the instrumentation scope, as one object. */
const SCOPE_ATTRIBUTES = 'otel.scope.attributes';

/**
 * A scope as defined by the API specification and OTLP. The types of the JavaScript SDK omit attributes, but a tracer
 * provider may set them, and scopes of other languages have them over OTLP.
 */
type Scope = ReadableSpan['instrumentationScope'] & {
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  readonly droppedAttributesCount?: number | undefined;
};

/**
 * Writes the JSON columns of the span that was read last. An attribute is omitted from `attributes` only if its column
 * is equivalent: it has the column's own or its first, standard name, and the type of its value did not change. Aliases
 * of other dialects, joined lists and values of the wrong type stay, so nothing is lost. Events that repeat the column
 * of a score are omitted too. What has no column is added under the names that OpenTelemetry gives for formats other
 * than OTLP: `otel.scope.version`, `otel.dropped_attributes_count`, `w3c.tracestate` and so on.
 */
export class SpanJson {
  readonly #cells: SpanCells;
  readonly #json: JsonWriter;

  constructor(cells: SpanCells) {
    this.#cells = cells;
    this.#json = new JsonWriter(cells.marks, cells.limits);
  }

  /** One column as JSON text, which is clean; to be called for each of {@link JSON_COLUMNS}, in that order. */
  of(column: JsonColumn, span: ReadableSpan): string {
    const json = this.#json;
    if (column === 'resource') return this.#cells.resourceJson;
    if (column !== 'attributes' && span[column].length === 0) return '[]';
    json.begin();
    if (column === 'events') json.list(this.#untold(span.events), 'events', this.#event);
    else if (column === 'links') json.list(span.links, 'links', this.#link);
    else this.#attributes(span);
    return json.take();
  }

  /** The events without those that repeat the columns of scores. */
  #untold(events: readonly TimedEvent[]): readonly TimedEvent[] {
    if (events.length === 0) return events;
    const { values } = this.#cells;
    return events.filter((event) => !isToldByColumns(event, (column) => values[toPosition(column)]));
  }

  readonly #event = (event: TimedEvent): void => {
    const json = this.#json;
    json.open();
    json.entry('time', true);
    json.text(hrTimeToIso(this.#cells.time(event.time, 'events')), 'events');
    json.entry('name', false);
    json.text(String(event.name), 'events');
    json.entry('attributes', false);
    json.record(event.attributes ?? {}, 'events');
    this.#dropped(event.droppedAttributesCount);
    json.close();
  };

  readonly #link = (link: Link): void => {
    const json = this.#json;
    const { traceId, spanId, traceState } = link.context;
    json.open();
    json.entry('trace_id', true);
    json.text(traceId, 'links');
    json.entry('span_id', false);
    json.text(spanId, 'links');
    json.entry('attributes', false);
    json.record(link.attributes ?? {}, 'links');
    const tracestate = traceState?.serialize();
    if (tracestate) {
      json.entry('tracestate', false);
      json.text(tracestate, 'links');
    }
    this.#dropped(link.droppedAttributesCount);
    json.close();
  };

  #dropped(count: number | undefined): void {
    if (!count) return;
    this.#json.entry('dropped_attributes_count', false);
    this.#json.value(count, 'dropped_attributes_count');
  }

  #attributes(span: ReadableSpan): void {
    const { marks, attributes } = this.#cells;
    const json = this.#json;
    if (attributes.hasMarks) this.#takeOverMarks(span.attributes);
    json.open();
    let isFirst = !json.entries(span.attributes, undefined, 0, attributes);
    const add = (name: string, value: unknown) => {
      json.entry(name, isFirst);
      json.value(value, name);
      isFirst = false;
    };
    // An attribute of the same name wins.
    const addExtra = (name: string, value: unknown) => {
      if (value && span.attributes[name] === undefined) add(name, value);
    };
    addScopeExtras(span, addExtra);
    addExtra('otel.dropped_attributes_count', span.droppedAttributesCount);
    addExtra('otel.dropped_events_count', span.droppedEventsCount);
    addExtra('otel.dropped_links_count', span.droppedLinksCount);
    addExtra('w3c.tracestate', this.#cells.context.traceState?.serialize());
    if (!marks.isEmpty) {
      json.renewRoom();
      if (marks.sanitized.size > 0) add(SANITIZED_ATTRIBUTE, [...marks.sanitized]);
      if (marks.truncated.size > 0) add(TRUNCATED_ATTRIBUTE, [...marks.truncated]);
    }
    json.close();
  }

  /** A span that was read from a store keeps its marks. */
  #takeOverMarks(attributes: ReadableSpan['attributes']): void {
    const [sanitized, truncated] = MARK_ATTRIBUTES.map((name) => attributes[name]);
    this.#cells.marks.addAll(readTexts(sanitized), readTexts(truncated));
  }
}

function readTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/**
 * Adds what the scope has beyond its column to `attributes`. Version and schema have the names that OpenTelemetry gives
 * for formats other than OTLP; a span that has such an attribute keeps its own. The scope's attributes are one object,
 * so that their names cannot clash with those of the span; its name is made unique if the span has it.
 */
function addScopeExtras(span: ReadableSpan, addExtra: (name: string, value: unknown) => void): void {
  const scope = span.instrumentationScope as Scope | undefined;
  if (scope === undefined) return;
  addExtra('otel.scope.version', scope.version);
  addExtra('otel.scope.schema_url', scope.schemaUrl);
  addExtra('otel.scope.dropped_attributes_count', scope.droppedAttributesCount);
  const { attributes } = scope;
  if (attributes === undefined || Object.keys(attributes).length === 0) return;
  addExtra(new FreeNames(span.attributes).take(SCOPE_ATTRIBUTES), attributes);
}
