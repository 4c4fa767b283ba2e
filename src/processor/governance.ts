import { type Context, createContextKey } from '@opentelemetry/api';
import { attributeNamesOf, type CamelFieldValues, fieldOf } from '../base/index.ts';

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

const TEMPLATE_NAMES = attributeNamesOf(fieldOf('prompt_template_id'));

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
