import type { Link } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { isToldByColumns } from '../base/index.ts';
import type { ByteWriter } from './byte-writer.ts';
import { positionOf } from './columns.ts';
import { JsonWriter } from './json-writer.ts';
import { SANITIZED_ATTRIBUTE, TRUNCATED_ATTRIBUTE } from './marks.ts';
import { addScopeExtras } from './scope-extras.ts';
import type { SpanCells } from './span-cells.ts';
import { hrTimeToIso } from './time.ts';

type TimedEvent = ReadableSpan['events'][number];
type JsonColumn = 'attributes' | 'resource' | 'events' | 'links';

/**
 * The columns of JSON in the order in which they are written: `attributes` last, because it holds the marks of what
 * had to be changed in the others.
 */
export const JSON_COLUMNS: readonly JsonColumn[] = ['events', 'links', 'resource', 'attributes'];

const MARKS: readonly string[] = [SANITIZED_ATTRIBUTE, TRUNCATED_ATTRIBUTE];

/**
 * Writes the JSON columns of the span that was read last. An attribute is left out of `attributes` only when its
 * column tells all of it: its name is the column's own or the first, standard source, and its value was kept unchanged
 * in kind. So aliases of other dialects, lists that were joined and values of the wrong type stay there, and nothing
 * is lost. Events that repeat a score's column are left out likewise. What has no column goes there under the names
 * OpenTelemetry gives for formats other than OTLP: `otel.scope.version`, `otel.dropped_attributes_count`,
 * `w3c.tracestate` and so on; see `addScopeExtras` for the scope's.
 */
export class SpanJson {
  readonly #cells: SpanCells;
  readonly #out: ByteWriter;
  readonly #json: JsonWriter;

  constructor(cells: SpanCells, out: ByteWriter) {
    this.#cells = cells;
    this.#out = out;
    this.#json = new JsonWriter(out, cells.marks, cells.limits);
  }

  /** Writes one column; each of {@link JSON_COLUMNS}, in that order. */
  write(column: JsonColumn, span: ReadableSpan): void {
    this.#json.begin();
    switch (column) {
      case 'events':
        this.#json.list(this.#untold(span.events), 'events', this.#event);
        break;
      case 'links':
        this.#json.list(span.links, 'links', this.#link);
        break;
      case 'resource':
        this.#out.bytes(this.#cells.resourceJson);
        break;
      case 'attributes':
        this.#attributes(span);
        break;
    }
  }

  /** The events without those that repeat the columns of scores. */
  #untold(events: readonly TimedEvent[]): readonly TimedEvent[] {
    if (events.length === 0) return events;
    const { values } = this.#cells;
    return events.filter((event) => !isToldByColumns(event, (column) => values[positionOf(column)]));
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
    const { marks, keys, isHeld } = this.#cells;
    const json = this.#json;
    const hasOldMarks = this.#takeOverMarks(span.attributes);
    const isLeftOut = hasOldMarks ? (i: number) => isHeld(i) || MARKS.includes(keys[i] as string) : isHeld;
    json.open();
    let isFirst = !json.entries(span.attributes, keys, undefined, 0, isLeftOut);
    const add = (name: string, value: unknown) => {
      json.entry(name, isFirst);
      json.value(value, name);
      isFirst = false;
    };
    // An attribute of the same name is left alone.
    const addExtra = (name: string, value: unknown) => {
      if (value && span.attributes[name] === undefined) add(name, value);
    };
    addScopeExtras(span, addExtra);
    addExtra('otel.dropped_attributes_count', span.droppedAttributesCount);
    addExtra('otel.dropped_events_count', span.droppedEventsCount);
    addExtra('otel.dropped_links_count', span.droppedLinksCount);
    addExtra('w3c.tracestate', this.#cells.context.traceState?.serialize());
    if (!marks.isEmpty) {
      json.begin();
      if (marks.sanitized.size > 0) add(SANITIZED_ATTRIBUTE, [...marks.sanitized]);
      if (marks.truncated.size > 0) add(TRUNCATED_ATTRIBUTE, [...marks.truncated]);
    }
    json.close();
  }

  /** A span that is stored once more keeps the marks it has. @returns whether it has any. */
  #takeOverMarks(attributes: ReadableSpan['attributes']): boolean {
    const [sanitized, truncated] = MARKS.map((name) => attributes[name]);
    if (sanitized === undefined && truncated === undefined) return false;
    this.#cells.marks.addAll(textsOf(sanitized), textsOf(truncated));
    return true;
  }
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
