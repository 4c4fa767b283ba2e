import { context } from '@opentelemetry/api';
import { checkValue, kinds, refuseUnknownOptions } from '../base/index.ts';
import { type GovernanceFields, getGovernance, pairFallback, setGovernance } from '../processor/index.ts';
import type { GovernanceOptions } from './types.ts';

/** Fields of each kind of call, which nothing may be taken for. */
const GOVERNANCE = {
  riskTier: true,
  promptTemplateId: true,
  confidence: true,
  confidenceGateThreshold: true,
  gateBlocked: true,
  fallbackUsed: true,
  fallbackType: true,
  fallbackReason: true,
  retries: true,
  isShadow: true,
  shadowParentTraceId: true,
} satisfies Record<keyof GovernanceOptions, true>;

export const GOVERNANCE_OPTIONS: readonly string[] = Object.keys(GOVERNANCE);

const CONTEXT_FIELDS = {
  riskTier: true,
  promptTemplateId: true,
  confidence: true,
  sessionId: true,
  conversationId: true,
  userId: true,
  runId: true,
  isShadow: true,
  shadowParentTraceId: true,
  gateBlocked: true,
  fallbackUsed: true,
  fallbackType: true,
  fallbackReason: true,
  retries: true,
} satisfies Record<keyof GovernanceFields, true>;

/**
 * The governance fields of one call: its own, then those of the context, then the defaults. A confidence below the
 * threshold blocks the call unless the caller decides otherwise; the shadow parent is kept only on a shadow run; a type
 * or reason of a fallback implies `fallbackUsed`.
 */
export function toGovernance(options: GovernanceOptions): GovernanceFields {
  const around = getGovernance(context.active()) ?? {};
  const { confidenceGateThreshold: threshold } = options;
  const confidence = options.confidence ?? around.confidence;
  const isBelow = confidence !== undefined && threshold !== undefined && confidence < threshold;
  const isShadow = options.isShadow ?? around.isShadow ?? false;
  const told = options.fallbackType !== undefined || options.fallbackReason !== undefined;
  const fallback = told ? options : options.fallbackUsed === false ? {} : around;
  return pairFallback({
    riskTier: options.riskTier ?? around.riskTier,
    promptTemplateId: options.promptTemplateId ?? around.promptTemplateId,
    confidence,
    sessionId: around.sessionId,
    conversationId: around.conversationId,
    userId: around.userId,
    runId: around.runId,
    gateBlocked: options.gateBlocked ?? (isBelow || (around.gateBlocked ?? false)),
    fallbackUsed: options.fallbackUsed ?? (told || (around.fallbackUsed ?? false)),
    fallbackType: fallback.fallbackType,
    fallbackReason: fallback.fallbackReason,
    retries: options.retries ?? around.retries ?? 0,
    isShadow,
    shadowParentTraceId: isShadow ? (options.shadowParentTraceId ?? around.shadowParentTraceId) : undefined,
  });
}

/** The fields added by a call's outcome; a fallback always has its type and reason. */
export function governanceDecided(options: GovernanceOptions): GovernanceFields {
  const { confidenceGateThreshold: _, ...fields } = options;
  return pairFallback(fields);
}

/**
 * Runs `fn` with governance fields for every GenAI and MCP span started inside it, across `await` and for all
 * instrumentations. Inner calls override the fields they set; `undefined` leaves a field unchanged.
 *
 * Descriptive fields (`riskTier`, `promptTemplateId`, `confidence`, `sessionId`, `conversationId`, `userId`, `runId`,
 * `isShadow`, `shadowParentTraceId`) also apply in MCP servers of other processes if the MCP instrumentation may send baggage: by
 * default to local peers only, see its option `propagate`.
 *
 * Needs the context manager of an OpenTelemetry SDK, which `startObservatory` and an exporter of `instrument` register too.
 *
 * ```ts
 * await govern({ riskTier: 'high', promptTemplateId: 'risk-v3.2' }, () => client.callTool({ name: 'score' }));
 * ```
 *
 * @returns what `fn` returns; errors pass through.
 * @throws ObservatoryError `INVALID_OPTION` for a field that there is not, before `fn` runs.
 */
export function govern<T>(fields: GovernanceFields, fn: () => T): T {
  checkValue('the function of govern()', fn, kinds.function);
  // What fields hold is checked where a span takes them.
  checkValue('the fields of govern()', fields, kinds.object);
  refuseUnknownOptions(fields, Object.keys(CONTEXT_FIELDS), 'govern()');
  return context.with(setGovernance(context.active(), fields), fn);
}
