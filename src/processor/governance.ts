import { type Context, createContextKey } from '@opentelemetry/api';
import type { CamelFieldValues } from '../base/index.ts';

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
 * given again; `undefined` leaves them as they are. The type and the reason of a fallback are one thing: giving either
 * replaces both, see {@link pairFallback}.
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

/** Stands for the half of a fallback that was not told, so that no row has one half alone. */
const UNSPECIFIED = 'unspecified';

/**
 * Completes what is told of a fallback: `fallbackType` and `fallbackReason` come together or not at all. The half that
 * is missing, or both when only `fallbackUsed` is true, become `unspecified`.
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
