import { type Attributes, type AttributeValue, SpanKind, type SpanStatus } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import {
  type AttributeColumn,
  type FieldValues,
  isWithin,
  semconv,
  toAttribute,
  toField,
} from '../base/index.ts';
import { hasFieldValue, isUsageColumn } from '../interaction/index.ts';
import { UNSPECIFIED } from './governance.ts';

/** A span with readable attributes, such as the SDK's. */
export interface WritableSpan {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: SpanStatus;
  setAttribute(key: string, value: AttributeValue): unknown;
}

/** Writes to an ended span: from another process, or in an SDK without `onEnding`. */
export class EndedSpan implements WritableSpan {
  readonly attributes: Record<string, unknown>;
  readonly status: SpanStatus;

  constructor(span: ReadableSpan) {
    this.status = span.status;
    this.attributes = span.attributes;
  }

  setAttribute(key: string, value: unknown): void {
    this.attributes[key] = value;
  }
}

/** Field values as attributes: `{prompt_hash}` -> `{'observatory.prompt_hash'}`. */
export function toAttributes(values: FieldValues): Attributes {
  const attributes: Attributes = {};
  for (const [column, value] of listEntries(values)) attributes[toAttribute(column)] = value;
  return attributes;
}

/**
 * Sets field values as attributes of a span. Existing values are kept, and values present under a standard name are not
 * repeated: reported tokens stay in `gen_ai.usage.*` only.
 *
 * They are few, so a span that is full takes them beyond its limit.
 *
 * @returns the values that found no place, on a span that cannot be written to.
 */
export function setFields(span: WritableSpan, values: FieldValues): FieldValues {
  const { attributes } = span;
  // Priced only here: a sender without the price wrote that it is unknown.
  const isPriced = values.cost_usd !== undefined && attributes[COST_USD] === undefined;
  let last: string | undefined;
  for (const key in values) {
    const column = key as AttributeColumn;
    const value = values[column];
    if (value === undefined) continue;
    const name = toAttribute(column);
    const isSet = attributes[name] !== undefined && !(isPriced && column === 'cost_source');
    if (isSet || hasFieldValue(attributes, column, value)) continue;
    span.setAttribute(name, value);
    if (isCut(attributes[name], value)) restore(span, name, value);
    last = name;
  }
  // A span that is full takes nothing more: if it took the last one, it took them all.
  return last === undefined || span.attributes[last] !== undefined ? NONE : addFields(span, values);
}

/** Whether the SDK's limit of lengths has cut a text: what is left of a hash, an id or a model is that of another. */
const isCut = (kept: unknown, value: AttributeValue): boolean =>
  typeof kept === 'string' && kept !== value && typeof value === 'string' && value.length <= MAX_WHOLE;

/** Longer texts are no ids. */
const MAX_WHOLE = 256;

function restore({ attributes }: WritableSpan, name: string, value: AttributeValue): void {
  try {
    (attributes as Record<string, unknown>)[name] = value;
  } catch {
    // Somebody has frozen it.
  }
}

function addFields(span: WritableSpan, values: FieldValues): FieldValues {
  try {
    Object.assign(span.attributes, toAttributes(missingFields(span, values)));
  } catch {
    // Somebody has frozen it.
  }
  return missingFields(span, values);
}

function missingFields({ attributes }: WritableSpan, values: FieldValues): FieldValues {
  const missing = listEntries(values).filter(([column, value]) => !hasField(attributes, column, value));
  return Object.fromEntries(missing) as FieldValues;
}

/** Whether a span has any value for a field, or this one under a standard name. */
export function hasField(
  attributes: Readonly<Record<string, unknown>>,
  column: AttributeColumn,
  value: AttributeValue,
): boolean {
  return attributes[toAttribute(column)] !== undefined || hasFieldValue(attributes, column, value);
}

const COST_USD = toAttribute('cost_usd');
const NONE: FieldValues = Object.freeze({});

/** The first `count` values. */
export function takeFields(values: FieldValues, count: number): FieldValues {
  if (values === NONE) return NONE;
  return Object.fromEntries(listEntries(values).slice(0, count)) as FieldValues;
}

export function countFields(values: FieldValues): number {
  return values === NONE ? 0 : listEntries(values).length;
}

/** Field values of the type and range in the dictionary, and the columns of the rest. */
export function checkFields(values: FieldValues): { values: FieldValues; refused: AttributeColumn[] } {
  const refused = listEntries(values)
    .filter(([column, value]) => !isOfType(column, value))
    .map(([column]) => column);
  if (refused.length === 0) return { values, refused };
  const good = Object.fromEntries(
    listEntries(values).filter(([column]) => !refused.includes(column)),
  ) as FieldValues;
  // A fallback keeps its type and reason together, also when one of them could not be used.
  const isHalf = (good.fallback_type === undefined) !== (good.fallback_reason === undefined);
  const missing = good.fallback_type === undefined ? 'fallback_type' : 'fallback_reason';
  return { values: isHalf ? { ...good, [missing]: UNSPECIFIED } : good, refused };
}

/** Whether a span has tokens or a cost: computed now, or set by code that enriches its spans itself. */
export function hasUsage(attributes: Readonly<Record<string, unknown>>, values: FieldValues): boolean {
  const counts = values.prompt_tokens ?? values.completion_tokens ?? values.cost_usd;
  const own = attributes['observatory.cost_usd'] ?? attributes['observatory.prompt_tokens'];
  return (counts ?? own ?? attributes[semconv.ATTR_GEN_AI_USAGE_INPUT_TOKENS]) !== undefined;
}

/** Whether a span has figures of its own that are counted somewhere: tokens, a cost, a risk, or the span that has them. */
export function hasFigures(attributes: Readonly<Record<string, unknown>>): boolean {
  const told = attributes['observatory.counted_on'] ?? attributes['observatory.hallucination_risk_score'];
  return told !== undefined || hasUsage(attributes, NONE);
}

/** The fields without tokens and cost, for a span whose call is counted on another. */
export function withoutUsage(values: FieldValues): FieldValues {
  return Object.fromEntries(listEntries(values).filter(([column]) => !isUsageColumn(column))) as FieldValues;
}

function isOfType(column: AttributeColumn, value: AttributeValue): boolean {
  const field = toField(column);
  if (field.wireType === 'integer') return isWithin(field, value as number);
  if (field.wireType === 'number') return Number.isFinite(value) && isWithin(field, value as number);
  if (field.wireType === 'boolean') return typeof value === 'boolean';
  return typeof value === 'string' && isWithin(field, value);
}

function listEntries(values: FieldValues): [AttributeColumn, AttributeValue][] {
  return (Object.entries(values) as [AttributeColumn, AttributeValue | undefined][]).filter(
    (entry): entry is [AttributeColumn, AttributeValue] => entry[1] !== undefined,
  );
}

/** The SDK's own limit, which holds where neither the program nor a variable sets one. */
const DEFAULT_LIMIT = 128;
/** Room for a conversation of a thousand messages in the form of OpenInference or OpenLLMetry: several attributes each. */
const RAISED_LIMIT = 4096;
const LIMIT_VARIABLES = ['OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', 'OTEL_ATTRIBUTE_COUNT_LIMIT'] as const;

function isOfOtherKind({ instrumentationScope }: ReadableSpan): boolean {
  return (instrumentationScope?.name ?? '').startsWith('@opentelemetry/instrumentation-');
}

/** What the spans of the SDK keep their limits in. */
interface Limits {
  readonly attributeCountLimit?: number;
}
const raised = new WeakMap<object, Limits>();

/**
 * Lets a span that starts take more attributes than the SDK's default limit. Beyond it the SDK drops what is set last,
 * which for a long conversation is the answer and the usage: no hash and no cost would be right. No public member of the
 * SDK does that for a span of somebody else's provider. A limit that somebody has set stays, and so does that of a span
 * that is plainly of another kind: one that is not internal and says nothing of GenAI or MCP, or that OpenTelemetry's own
 * instrumentations make. Internal ones may say later what they are.
 */
export function raiseAttributeLimit(span: ReadableSpan, isKnown: boolean): void {
  const own = span as { _spanLimits?: Limits };
  const limits = own._spanLimits;
  if (limits?.attributeCountLimit !== DEFAULT_LIMIT) return;
  if (!isKnown && (span.kind !== SpanKind.INTERNAL || isOfOtherKind(span))) return;
  let more = raised.get(limits);
  if (more === undefined) {
    const isSet = LIMIT_VARIABLES.some((name) => (process.env[name] ?? '').trim() !== '');
    more = isSet ? limits : { ...limits, attributeCountLimit: RAISED_LIMIT };
    raised.set(limits, more);
  }
  if (more !== limits) own._spanLimits = more;
}
