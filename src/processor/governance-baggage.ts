/**
 * Governance fields between processes, as W3C baggage entries named like their attributes. Baggage is untrusted input:
 * only descriptive fields are read, never outcomes, and only up to the length of an id.
 */
import { type Baggage, type BaggageEntry, type Context, propagation } from '@opentelemetry/api';
import { fieldOf, isWithin } from '../base/index.ts';
import { type GovernanceFields, getGovernance, setGovernance } from './governance.ts';

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

/** Longer texts are neither sent nor read. */
const MAX_TEXT_CHARS = 256;

/** Copies a context's governance fields to its baggage, for a propagator to inject. */
export function governanceToBaggage(context: Context): Context {
  const fields = getGovernance(context);
  if (fields === undefined) return context;
  let baggage: Baggage = propagation.getBaggage(context) ?? propagation.createBaggage();
  for (const [field, key] of entriesOf(CARRIED)) {
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
  for (const [field, key] of entriesOf(CARRIED)) {
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
  return isWithin(fieldOf('confidence'), confidence) ? confidence : undefined;
}

function entriesOf(table: typeof CARRIED): [CarriedField, string][] {
  return Object.entries(table) as [CarriedField, string][];
}
