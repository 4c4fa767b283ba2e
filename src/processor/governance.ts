import { type Context, createContextKey } from '@opentelemetry/api';
import type { CamelFieldValues } from '../camel-case.ts';

/** What an application decides about its calls and wants on every GenAI and MCP span made while it holds. */
export type GovernanceFields = Pick<
  CamelFieldValues,
  | 'riskTier'
  | 'promptTemplateId'
  | 'confidence'
  | 'sessionId'
  | 'conversationId'
  | 'isShadow'
  | 'shadowParentTraceId'
  | 'gateBlocked'
  | 'fallbackUsed'
  | 'fallbackType'
  | 'fallbackReason'
  | 'retries'
>;

// A context key is a registered symbol, so copies of this package read what another one set.
const KEY = createContextKey('mcp-observatory governance');

/**
 * Returns a context in which spans carry these fields. Fields already set by an outer context stay unless they are
 * given again; `undefined` leaves them as they are.
 *
 * ```ts
 * context.with(setGovernance(context.active(), { riskTier: 'high' }), () => callModel());
 * ```
 */
export function setGovernance(context: Context, fields: GovernanceFields): Context {
  const merged: Record<string, unknown> = { ...getGovernance(context) };
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) merged[name] = value;
  return context.setValue(KEY, merged);
}

/** The governance fields of a context, or `undefined` when none were set. */
export function getGovernance(context: Context): GovernanceFields | undefined {
  return context.getValue(KEY) as GovernanceFields | undefined;
}
