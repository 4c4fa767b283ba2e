import type { HrTime, Link } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { ObservatoryError } from '../errors.ts';
import { isToldByColumns } from '../evaluation-events.ts';
import { COLUMNS, type Column, type TraceRow } from '../fields.ts';
import type { Scalar } from './coerce.ts';
import { columnsReadFrom, divideAttributes } from './divide.ts';
import { spanIdToUuid, traceIdToUuid } from './ids.ts';
import { cleanText, Sanitiser } from './sanitise.ts';
import { hrTimeToIso, UNKNOWN_TIME } from './time.ts';

/** Lists, in `attributes`, what could not be stored as it was: names of attributes and columns. */
export const SANITISED_ATTRIBUTE = 'observatory.sanitised';

/** Names of `SpanKind` and `SpanStatusCode`, by their numbers. */
const KINDS = ['internal', 'server', 'client', 'producer', 'consumer'] as const;
const STATUSES = ['unset', 'ok', 'error'] as const;

type TimedEvent = ReadableSpan['events'][number];
type Resource = ReadableSpan['resource'];
type JsonRecord = Record<string, unknown>;

const SPAN_COLUMNS = columnsReadFrom('span');
const RESOURCE_COLUMNS = columnsReadFrom('resource');
type MutableRow = { -readonly [C in Column]: TraceRow[C] };

/**
 * One span as a row of `mcp_traces`.
 *
 * A column is filled from `observatory.<column>`, else from the first of its sources that has a value of the column's
 * type (see `coerce`). An attribute is left out of `attributes` only when its column tells all of it: its name is the
 * column's own or the first, standard source, and its value was kept unchanged in kind. So aliases of other dialects,
 * lists that were joined and values of the wrong type stay there, and nothing is lost. Events that repeat a score's
 * column are left out likewise. What has no column goes there
 * under the names OpenTelemetry gives for formats other than OTLP: `otel.scope.version`,
 * `otel.dropped_attributes_count`, `w3c.tracestate` and so on.
 *
 * @throws ObservatoryError `INVALID_INPUT` when the trace or span id is not valid: such a row has no key.
 */
export function spanToRow(span: ReadableSpan): TraceRow {
  const context = span.spanContext();
  const traceId = traceIdToUuid(context.traceId);
  const spanId = spanIdToUuid(context.spanId);
  if (traceId === undefined || spanId === undefined) {
    throw new ObservatoryError(
      'INVALID_INPUT',
      `A span needs a trace id of 32 and a span id of 16 hex digits, not all zero; got '${context.traceId}' and '${context.spanId}'`,
    );
  }
  const sanitiser = new Sanitiser();
  const resource = resourceOf(span.resource);
  const [values, attributes] = divideAttributes(Object.entries(span.attributes), SPAN_COLUMNS, sanitiser);
  addExtras(attributes, span, sanitiser);
  const row = emptyRow();
  fill(row, resource.values);
  fill(row, values);
  row.trace_id = traceId;
  row.span_id = spanId;
  row.parent_span_id = parentOf(span, sanitiser);
  row.start_time = timeOf(span.startTime, 'start_time', sanitiser);
  row.end_time = timeOf(span.endTime, 'end_time', sanitiser);
  row.span_name = sanitiser.text(String(span.name), 'span_name');
  row.span_kind = KINDS[span.kind] ?? 'internal';
  row.status_code = STATUSES[span.status.code] ?? 'unset';
  row.status_message = textOrNull(span.status.message, 'status_message', sanitiser);
  row.scope = textOrNull(span.instrumentationScope?.name, 'scope', sanitiser);
  row.attributes = attributes;
  row.resource = resource.json;
  row.events = span.events
    .filter((event) => !isToldByColumns(event, row))
    .map((event) => eventOf(event, sanitiser));
  row.links = span.links.map((link) => linkOf(link, sanitiser));
  const changed = [...resource.changed, ...sanitiser.changed];
  if (changed.length > 0) attributes[SANITISED_ATTRIBUTE] = changed.map(cleanText);
  return row;
}

/** All columns, null and in their order, so that rows have one shape. */
function emptyRow(): MutableRow {
  const row: Record<string, null> = {};
  for (const column of COLUMNS) row[column] = null;
  return row as unknown as MutableRow;
}

function fill(row: JsonRecord, values: ReadonlyMap<string, Scalar>): void {
  for (const [column, value] of values) row[column] = value;
}

/** What a span has that no column holds and no attribute tells. An attribute of the same name is left alone. */
function addExtras(attributes: JsonRecord, span: ReadableSpan, sanitiser: Sanitiser): void {
  const extras: readonly (readonly [string, unknown])[] = [
    ['otel.scope.version', span.instrumentationScope?.version],
    ['otel.scope.schema_url', span.instrumentationScope?.schemaUrl],
    ['otel.dropped_attributes_count', countOrNothing(span.droppedAttributesCount)],
    ['otel.dropped_events_count', countOrNothing(span.droppedEventsCount)],
    ['otel.dropped_links_count', countOrNothing(span.droppedLinksCount)],
    ['w3c.tracestate', span.spanContext().traceState?.serialize() || undefined],
  ];
  for (const [name, value] of extras) {
    if (value !== undefined && !Object.hasOwn(attributes, name)) sanitiser.put(attributes, name, value, name);
  }
}

interface ResourceParts {
  readonly values: ReadonlyMap<string, Scalar>;
  readonly json: Readonly<JsonRecord>;
  readonly changed: readonly string[];
}

/** All spans of a process share one resource, so its parts are made once. */
const resourceParts = new WeakMap<Resource, ResourceParts>();

function resourceOf(resource: Resource): ResourceParts {
  const known = resourceParts.get(resource);
  if (known !== undefined) return known;
  const sanitiser = new Sanitiser();
  const [values, json] = divideAttributes(Object.entries(resource.attributes), RESOURCE_COLUMNS, sanitiser);
  if (resource.schemaUrl) sanitiser.put(json, 'otel.resource.schema_url', resource.schemaUrl, 'schema_url');
  const parts = { values, json, changed: [...sanitiser.changed].map((name) => `resource ${name}`) };
  if (!resource.asyncAttributesPending) resourceParts.set(resource, parts);
  return parts;
}

function eventOf(event: TimedEvent, sanitiser: Sanitiser): JsonRecord {
  return {
    time: timeOf(event.time, 'events', sanitiser),
    name: sanitiser.text(String(event.name), 'events'),
    attributes: sanitiser.record(Object.entries(event.attributes ?? {}), 'events'),
    ...dropped(event.droppedAttributesCount),
  };
}

function linkOf(link: Link, sanitiser: Sanitiser): JsonRecord {
  const { traceId, spanId, traceState } = link.context;
  const tracestate = traceState?.serialize();
  return {
    trace_id: sanitiser.text(traceId, 'links'),
    span_id: sanitiser.text(spanId, 'links'),
    attributes: sanitiser.record(Object.entries(link.attributes ?? {}), 'links'),
    ...(tracestate ? { tracestate: sanitiser.text(tracestate, 'links') } : {}),
    ...dropped(link.droppedAttributesCount),
  };
}

function parentOf(span: ReadableSpan, sanitiser: Sanitiser): string | null {
  const spanId = span.parentSpanContext?.spanId;
  if (spanId === undefined) return null;
  const uuid = spanIdToUuid(spanId);
  if (uuid === undefined && !/^0*$/.test(spanId)) sanitiser.changed.add('parent_span_id');
  return uuid ?? null;
}

function timeOf(time: HrTime, name: string, sanitiser: Sanitiser): string {
  const iso = hrTimeToIso(time);
  if (iso === undefined) sanitiser.changed.add(name);
  return iso ?? UNKNOWN_TIME;
}

function textOrNull(text: unknown, name: string, sanitiser: Sanitiser): string | null {
  return text === undefined || text === null ? null : sanitiser.text(String(text), name);
}

function dropped(count: number | undefined): { dropped_attributes_count?: number } {
  return count ? { dropped_attributes_count: count } : {};
}

function countOrNothing(count: number): number | undefined {
  return count > 0 ? count : undefined;
}
