import { createTraceState, type SpanContext, SpanStatusCode, type TraceState } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type AttributeColumn, type FieldValues, toAttribute } from '../base/index.ts';
import { redactValue } from '../json/index.ts';
import { isKept } from './kept-attributes.ts';
import { keptEventName, keptSpanName, keptText, REDACTED } from './kept-names.ts';
import { EndedSpan, hasField, setFields } from './set-fields.ts';

type Mutable = Record<string, unknown>;

export interface RedactOptions {
  /** Names of attributes that stay in addition to those of the table. */
  readonly keep: ReadonlySet<string>;
  /** Whether the names of the span and its events are rebuilt from known words: those of a GenAI or MCP span. */
  readonly redactNames: boolean;
  /**
   * Whether nobody else holds the records of the span: they are replaced then, which takes half the time of deleting
   * from them.
   */
  readonly isOwned?: boolean | undefined;
  /** Fields to set, for an owned span: they go straight into the new record. */
  readonly fields?: FieldValues | undefined;
}

/**
 * Removes content from a span: every attribute that is not on the list of {@link isKept}, of the span, its resource, its
 * scope, its events and links; the description of its status; the trace state of other vendors; and, if asked, what its
 * name and those of its events quote. Secrets in what stays are masked.
 *
 * Fails closed: what cannot be deleted is overwritten, and if even that fails the span loses the whole part.
 *
 * @returns how many attributes of the span were removed.
 */
export function redactSpan(span: ReadableSpan, options: RedactOptions): number {
  const removed =
    options.isOwned === true
      ? replaceRecord(span, options.keep, options.fields)
      : redactRecord(span, 'attributes', options.keep);
  redactEvents(span, options);
  redactLinks(span, options.keep);
  redactScope(span, options.keep);
  redactResource(span, options.keep);
  redactStatus(span);
  redactContext(span, 'spanContext');
  const { name } = span;
  replaceIfChanged(
    span,
    'name',
    options.redactNames ? keptSpanName(name, span.attributes) : keptText('name', name),
  );
  return removed;
}

/** Gives the span attributes of its own with what may stay, and the fields after them. */
function replaceRecord(span: ReadableSpan, keep: ReadonlySet<string>, fields: FieldValues = {}): number {
  const { attributes } = span as { attributes: Mutable };
  const kept: Mutable = {};
  let removed = 0;
  const put = (key: string, value: unknown): void => {
    if (!isKept(key, value) && !keep.has(key)) removed += 1;
    else kept[key] = typeof value === 'number' ? value : keptValue(key, value);
  };
  for (const key in attributes) put(key, attributes[key]);
  for (const key in fields) {
    const column = key as AttributeColumn;
    const value = fields[column];
    if (value === undefined || hasField(attributes, column, value)) continue;
    // They were computed: nobody's text is in them.
    if (HASHES.has(column)) kept[toAttribute(column)] = value;
    else put(toAttribute(column), value);
  }
  replaceIfChanged(span, 'attributes', kept);
  if (span.attributes === kept) return removed;
  setFields(new EndedSpan(span), fields);
  return redactRecord(span, 'attributes', keep);
}

const HASHES: ReadonlySet<AttributeColumn> = new Set([
  'prompt_hash',
  'normalized_prompt_hash',
  'answer_hash',
  'tool_args_hash',
]);

function redactRecord(holder: object, field: string, keep: ReadonlySet<string>): number {
  let removed = 0;
  try {
    const record = (holder as Mutable)[field] as Mutable | undefined;
    for (const key in record) {
      const value = record[key];
      if (isKept(key, value) || keep.has(key)) {
        const kept = keptValue(key, value);
        if (kept !== value) record[key] = kept;
        continue;
      }
      if (!Reflect.deleteProperty(record, key)) record[key] = REDACTED;
      removed += 1;
    }
  } catch {
    const before = (holder as Mutable)[field];
    const kept = keptRecord(before, keep);
    removed = readCount(before) - readCount(kept);
    replaceField(holder, field, kept);
  }
  return removed;
}

function readCount(record: unknown): number {
  return typeof record === 'object' && record !== null ? Object.keys(record).length : 0;
}

/** A redacted copy of a record. */
function keptRecord(record: unknown, keep: ReadonlySet<string>): Mutable {
  try {
    return Object.fromEntries(
      Object.entries(record as Mutable)
        .filter(([key, value]) => isKept(key, value) || keep.has(key))
        .map(([key, value]) => [key, keptValue(key, value)]),
    );
  } catch {
    return {};
  }
}

/** The value itself if nothing in it has to go. */
function keptValue(key: string, value: unknown): unknown {
  if (typeof value === 'string') return keptText(key, value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) {
    const kept = value.map((item) => (typeof item === 'string' ? keptText(key, item) : item));
    return kept.some((item, index) => item !== value[index]) ? kept : value;
  }
  return redactValue(value);
}

function redactEvents(span: ReadableSpan, { keep, redactNames }: RedactOptions): void {
  try {
    for (const event of span.events) {
      redactRecord(event, 'attributes', keep);
      if (redactNames) replaceIfChanged(event, 'name', keptEventName(event.name));
    }
  } catch {
    replaceField(span, 'events', []);
  }
}

function redactLinks(span: ReadableSpan, keep: ReadonlySet<string>): void {
  try {
    for (const link of span.links) {
      redactRecord(link, 'attributes', keep);
      redactContext(link, 'context');
    }
  } catch {
    replaceField(span, 'links', []);
  }
}

/** Redacts the attributes of the scope, which spans share: in place if possible, else for this span only. */
function redactScope(span: ReadableSpan, keep: ReadonlySet<string>): void {
  const { instrumentationScope: scope } = span;
  if (scope === undefined || !('attributes' in scope)) return;
  try {
    redactRecord(scope, 'attributes', keep);
  } catch {
    const { attributes: _, ...others } = scope;
    replaceField(span, 'instrumentationScope', others);
  }
}

type Resource = ReadableSpan['resource'];

/** Redacted resources by the original: spans share them, and exporters group spans by them. */
const resources = new WeakMap<Resource, Map<ReadonlySet<string>, Resource>>();

/** Gives the span a resource of its own with what may stay; metrics and logs of the process keep the original. */
function redactResource(span: ReadableSpan, keep: ReadonlySet<string>): void {
  const { resource } = span;
  if (resource === undefined) return;
  const known = resources.get(resource) ?? new Map<ReadonlySet<string>, Resource>();
  resources.set(resource, known);
  let redacted = known.get(keep);
  if (redacted === undefined) {
    let attributes: Mutable | undefined;
    const get = (): Mutable => {
      // Attributes that are detected asynchronously are there when the exporter reads them.
      if (resource.asyncAttributesPending === true) return keptRecord(resource.attributes, keep);
      attributes ??= keptRecord(resource.attributes, keep);
      return attributes;
    };
    redacted = Object.create(resource, { attributes: { enumerable: true, get } }) as Resource;
    known.set(keep, redacted);
    resources.set(redacted, new Map([[keep, redacted]]));
  }
  replaceIfChanged(span, 'resource', redacted);
}

function redactStatus(span: ReadableSpan): void {
  if (span.status.message === undefined) return;
  try {
    // Assigned directly: setStatus() has no effect once a span has ended.
    (span as { status: ReadableSpan['status'] }).status = { code: span.status.code };
  } catch {
    replaceField(span, 'status', { code: SpanStatusCode.ERROR });
  }
}

/** Sampling decisions of OpenTelemetry, which back ends need to count: `th:8;rv:0123456789abcd`. */
const SAMPLING = /^(?:(?:th|rv|p|r):[0-9a-f]{1,14}(?:;|$)){1,4}$/;

/** Removes what vendors passed on in the trace state of a span or a link; OpenTelemetry's sampling stays. */
function redactContext(holder: object, field: 'spanContext' | 'context'): void {
  const member = (holder as Mutable)[field];
  const context = (typeof member === 'function' ? member.call(holder) : member) as SpanContext | undefined;
  if (context?.traceState === undefined) return;
  const traceState = keptTraceState(context.traceState);
  if (traceState === context.traceState) return;
  const kept = { ...context, traceState };
  replaceField(holder, field, typeof member === 'function' ? () => kept : kept);
}

function keptTraceState(state: TraceState): TraceState | undefined {
  const sampling = state.get('ot');
  if (sampling === undefined || !SAMPLING.test(sampling)) return undefined;
  const kept = `ot=${sampling}`;
  return state.serialize() === kept ? state : createTraceState(kept);
}

function replaceIfChanged(holder: object, field: string, value: unknown): void {
  if ((holder as Mutable)[field] === value) return;
  try {
    (holder as Mutable)[field] = value;
    if ((holder as Mutable)[field] === value) return;
  } catch {
    // It is frozen, or has only a getter.
  }
  replaceField(holder, field, value);
}

function replaceField(holder: object, field: string, value: unknown): void {
  Object.defineProperty(holder, field, { value, configurable: true, enumerable: true, writable: true });
}
