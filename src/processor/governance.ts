/**
 * Governance fields: in a context while the application runs, on spans as they start, and between processes as W3C
 * baggage entries named like their attributes.
 */
import {
  type Baggage,
  type BaggageEntry,
  type Context,
  createContextKey,
  propagation,
  trace,
} from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type CamelFieldValues, isWithin, listAttributeNames, toField } from '../base/index.ts';
import { readIdByWords, readTextField } from '../interaction/index.ts';
import { RecentMap } from './recent-map.ts';

/** Fields that an application sets for all GenAI and MCP spans started in a context. */
export type GovernanceFields = Pick<
  CamelFieldValues,
  | 'riskTier'
  | 'promptTemplateId'
  | 'confidence'
  | 'sessionId'
  | 'conversationId'
  | 'userId'
  | 'runId'
  | 'isShadow'
  | 'shadowParentTraceId'
  | 'gateBlocked'
  | 'fallbackUsed'
  | 'fallbackType'
  | 'fallbackReason'
  | 'retries'
>;

// A context key is a registered symbol, shared by all copies of this package.
const KEY = createContextKey('mcp-observatory governance');

/**
 * Returns a context in which spans carry these fields. Fields of an outer context stay unless set again; `undefined`
 * leaves them. The type and reason of a fallback belong together: setting either replaces both, see {@link
 * pairFallback}.
 *
 * ```ts
 * context.with(setGovernance(context.active(), { riskTier: 'high' }), () => callModel());
 * ```
 */
export function setGovernance(context: Context, fields: GovernanceFields): Context {
  const merged: Record<string, unknown> = { ...getGovernance(context) };
  if (fields.fallbackType !== undefined || fields.fallbackReason !== undefined) {
    delete merged.fallbackType;
    delete merged.fallbackReason;
  }
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) merged[name] = value;
  return context.setValue(KEY, pairFallback(merged));
}

/** The governance fields of a context, or `undefined` when none were set. */
export function getGovernance(context: Context): GovernanceFields | undefined {
  return context.getValue(KEY) as GovernanceFields | undefined;
}

/** Whether a value names a prompt template. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

const TEMPLATE_NAMES = listAttributeNames(toField('prompt_template_id'));

/** Whether the attributes of a span name a prompt template. */
export function namesTemplate(attributes: Readonly<Record<string, unknown>>): boolean {
  return TEMPLATE_NAMES.some((name) => isName(attributes[name]));
}

/** Value of the missing half of a fallback, so that rows always have both. */
export const UNSPECIFIED = 'unspecified';

/**
 * Completes the fields of a fallback, so that `fallbackType` and `fallbackReason` are both present or both absent. A
 * missing one, or both if only `fallbackUsed` is true, become `unspecified`.
 */
export function pairFallback<F extends GovernanceFields>(fields: F): F {
  const { fallbackUsed, fallbackType, fallbackReason } = fields;
  const isTold = fallbackUsed === true || fallbackType !== undefined || fallbackReason !== undefined;
  if (!isTold || (fallbackType !== undefined && fallbackReason !== undefined)) return fields;
  return {
    ...fields,
    fallbackType: fallbackType ?? UNSPECIFIED,
    fallbackReason: fallbackReason ?? UNSPECIFIED,
  };
}

/** Spans around a call that are asked for its user. */
const MAX_STEPS = 64;
/** Spans of other processes kept in mind; beyond it the oldest are forgotten. */
const MAX_RECEIVED = 8_192;

interface ReceivedSpan {
  readonly traceId: string;
  readonly parent: string | undefined;
  readonly user: string | undefined;
}

/**
 * The user that the spans around a call name: usually the server span of its request has `enduser.id`, and the spans of
 * models and tools below do not. The nearest one counts.
 */
export class UsersAround {
  readonly #around = new WeakMap<object, Partial<ReadableSpan>>();
  readonly #received = new RecentMap<ReceivedSpan>(MAX_RECEIVED);

  /** Notes what a span that starts in this process is in; that may name its user later. */
  begin(span: object, parentContext: Context): void {
    const around = trace.getSpan(parentContext);
    if (around !== undefined) this.#around.set(span, around as Partial<ReadableSpan>);
  }

  /** Notes a span that ended in another process. */
  receive(span: ReadableSpan): void {
    const { traceId, spanId } = span.spanContext();
    this.#received.set(spanId, {
      traceId,
      parent: span.parentSpanContext?.spanId,
      user: readUser(span.attributes),
    });
  }

  /** @returns `undefined` if the span itself names one under a name that columns are read from, or none is known. */
  find(span: ReadableSpan): string | undefined {
    if (readTextField(span.attributes, 'user_id') !== undefined) return undefined;
    return readIdByWords(span.attributes, 'user') ?? this.#findBegun(span) ?? this.#findReceived(span);
  }

  #findBegun(span: ReadableSpan): string | undefined {
    let at = this.#around.get(span);
    // What is not recorded, or runs in another process, has no attributes here.
    for (let step = 0; at?.attributes !== undefined && step < MAX_STEPS; step += 1) {
      const user = readUser(at.attributes);
      if (user !== undefined) return user;
      at = this.#around.get(at);
    }
    return undefined;
  }

  #findReceived(span: ReadableSpan): string | undefined {
    if (this.#received.size === 0) return undefined;
    let at = span.parentSpanContext?.spanId;
    for (let step = 0; at !== undefined && step < MAX_STEPS; step += 1) {
      const known = this.#received.get(at);
      if (known?.traceId !== span.spanContext().traceId) return undefined;
      if (known.user !== undefined) return known.user;
      at = known.parent;
    }
    return undefined;
  }
}

/** The session that a span names under a name that no column is read from. */
export function readSessionByWords({ attributes }: ReadableSpan): string | undefined {
  return readTextField(attributes, 'session_id') === undefined
    ? readIdByWords(attributes, 'session')
    : undefined;
}

/** @returns `undefined` for what is longer than an id. */
function readUser(attributes: ReadableSpan['attributes']): string | undefined {
  const user = readTextField(attributes, 'user_id') ?? readIdByWords(attributes, 'user');
  return user !== undefined && user.length <= MAX_TEXT_CHARS ? user : undefined;
}

/** Fields that apply to the whole request rather than the outcome of one call. */
const CARRIED = {
  riskTier: 'observatory.risk_tier',
  promptTemplateId: 'observatory.prompt_template_id',
  confidence: 'observatory.confidence',
  sessionId: 'observatory.session_id',
  conversationId: 'observatory.conversation_id',
  userId: 'observatory.user_id',
  runId: 'observatory.run_id',
  isShadow: 'observatory.is_shadow',
  shadowParentTraceId: 'observatory.shadow_parent_trace_id',
} as const satisfies Partial<Record<keyof GovernanceFields, string>>;

type CarriedField = keyof typeof CARRIED;

/** Baggage is untrusted input: only descriptive fields are read, and only up to the length of an id. */
const MAX_TEXT_CHARS = 256;

/** Copies a context's governance fields to its baggage, for a propagator to inject. */
export function governanceToBaggage(context: Context): Context {
  const fields = getGovernance(context);
  if (fields === undefined) return context;
  let baggage: Baggage = propagation.getBaggage(context) ?? propagation.createBaggage();
  for (const [field, key] of listEntries(CARRIED)) {
    const value = fields[field];
    if (value === undefined || String(value).length > MAX_TEXT_CHARS) continue;
    baggage = baggage.setEntry(key, { value: String(value) });
  }
  return propagation.setBaggage(context, baggage);
}

/**
 * Moves governance fields from a context's baggage to the context; they are passed on only where {@link
 * governanceToBaggage} is called. Without `accept` they are removed and ignored.
 */
export function governanceFromBaggage(context: Context, accept: boolean): Context {
  const baggage = propagation.getBaggage(context);
  if (baggage === undefined) return context;
  const fields: Partial<Record<CarriedField, unknown>> = {};
  const keys: string[] = [];
  for (const [field, key] of listEntries(CARRIED)) {
    const entry = baggage.getEntry(key);
    if (entry === undefined) continue;
    keys.push(key);
    const value = readEntry(field, entry);
    if (value !== undefined) fields[field] = value;
  }
  if (keys.length === 0) return context;
  const cleaned = propagation.setBaggage(context, baggage.removeEntries(...keys));
  return accept ? setGovernance(cleaned, fields as GovernanceFields) : cleaned;
}

function readEntry(field: CarriedField, { value }: BaggageEntry): string | number | boolean | undefined {
  if (value === '' || value.length > MAX_TEXT_CHARS) return undefined;
  if (field === 'isShadow') return value === 'true' ? true : value === 'false' ? false : undefined;
  if (field !== 'confidence') return value;
  const confidence = Number(value);
  return isWithin(toField('confidence'), confidence) ? confidence : undefined;
}

function listEntries(table: typeof CARRIED): [CarriedField, string][] {
  return Object.entries(table) as [CarriedField, string][];
}
