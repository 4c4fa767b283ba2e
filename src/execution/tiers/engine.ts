import { checkOptions, checkValue, having, ObservatoryError } from '../../base/index.ts';
import type { FallbackRouter } from '../fallback/index.ts';
import type { Interceptor, ModelCall, ModelCallRecord, SpanReference } from '../types.ts';
import type { TieredExecutionConfig } from './config.ts';
import { judgeByTier } from './judge.ts';
import type { ExecutionTier, TierDecision, TierVerdict } from './types.ts';

/** Fields of a model call passed on by a tiered execution. */
type PlainParts =
  | 'model'
  | 'prompt'
  | 'call'
  | 'toolName'
  | 'secondaryResponse'
  | 'retrievedContext'
  | 'steps'
  | 'toolResultSummary'
  | 'provider'
  | 'operation'
  | 'usage'
  | 'riskTier'
  | 'promptTemplateId'
  | 'retries'
  | 'isShadow'
  | 'shadowParentTraceId';

/** One call executed in a tier. Give either `mcpResponse`, of a call already made, or `call`. */
export interface TieredExecution<T, F> extends Pick<ModelCall<T>, PlainParts> {
  /** Name of the tier. Also the `risk_tier` of the spans, unless `riskTier` is given. */
  readonly tierName: string;
  /** The response of a call already made: a text, an object with a text, or a provider's response. */
  readonly mcpResponse?: T | undefined;
  /** Confidence in the answer, 0..1. @defaultValue that of `govern()` around it, else 1 - hallucination risk */
  readonly confidence?: number | undefined;
  /** Reads the confidence from the response, where `call` brings it. `undefined` means that it is not known. */
  readonly confidenceOf?: ((response: T) => number | undefined) | undefined;
  /** Deterministic answer when the limits are breached. @defaultValue the route of the engine's router */
  readonly deterministicFallback?:
    | ((request: { readonly prompt: string; readonly model: string }) => F | Promise<F>)
    | undefined;
}

/** The response to use, and the decision behind it. */
export interface TieredResult<R> {
  readonly response: R;
  readonly decision: TierDecision;
}

/** Options of a {@link TieredExecutionEngine}. */
export interface TieredExecutionEngineOptions {
  /** Fallback routes by `toolName` for calls without a `deterministicFallback`. */
  readonly fallbacks?: FallbackRouter | undefined;
}

/**
 * Executes model calls under the budget and the limits of a tier: a cost above the budget is flagged, a confidence or a
 * risk outside the limits replaces the answer by a deterministic fallback. See `judgeByTier` for the
 * rules. Decisions never depend on sampling or export of spans.
 */
export class TieredExecutionEngine {
  readonly #interceptor: Interceptor;
  readonly #config: TieredExecutionConfig;
  readonly #fallbacks: FallbackRouter | undefined;

  constructor(
    interceptor: Interceptor,
    config: TieredExecutionConfig,
    options: TieredExecutionEngineOptions = {},
  ) {
    const what = 'TieredExecutionEngine';
    checkValue(
      `the interceptor of ${what}`,
      interceptor,
      having("what 'instrument()' returns", 'recordModelCall'),
    );
    checkValue(`the config of ${what}`, config, having('a TieredExecutionConfig', 'tier'));
    checkOptions(options, { fallbacks: having('a FallbackRouter', 'routeOf', 'fallBack') }, what);
    this.#interceptor = interceptor;
    this.#config = config;
    this.#fallbacks = options.fallbacks;
  }

  /**
   * Records the call, decides, and returns its response or the fallback's.
   *
   * @throws ObservatoryError `UNKNOWN_TIER` that lists the known ones, or `INVALID_OPTION` when there is no response,
   * no call or no fallback; both before any call. Errors of `call` or the fallback pass through; a refused answer is
   * never returned for a failed fallback.
   */
  async execute<T, F = unknown>(execution: TieredExecution<T, F>): Promise<TieredResult<T | F>> {
    const tier = this.#config.tier(execution.tierName);
    this.#checkFallback(execution);
    const { result, record, verdict } = await this.#callPrimary(tier, execution);
    const { traceId, spanId, traceFlags } = record;
    const primarySpan = { traceId, spanId, traceFlags };
    const { fallbackReason } = verdict;
    if (fallbackReason === undefined) {
      return { response: result, decision: { ...verdict, ...ACCEPTED, tier, primarySpan } };
    }
    const primary = { response: result, span: primarySpan, verdict };
    const fallback = await this.#fallBack<T, F>(tier, execution, fallbackReason, primary);
    const { response, fallbackType, reviewId, span } = fallback;
    const decision: TierDecision = {
      ...verdict,
      tier,
      source: 'fallback',
      fallbackUsed: true,
      fallbackType,
      reviewId,
      primarySpan,
      fallbackSpan: span,
    };
    return { response, decision };
  }

  async #callPrimary<T, F>(tier: ExecutionTier, execution: TieredExecution<T, F>): Promise<Primary<T>> {
    const {
      tierName: _tier,
      mcpResponse,
      confidence,
      confidenceOf,
      deterministicFallback: _,
      ...call
    } = execution;
    let given = confidence;
    let verdict: TierVerdict | undefined;
    let hasAnswered = false;
    const work = call.call ?? (() => mcpResponse as T);
    const { result, record } = await this.#interceptor.recordModelCall<T>({
      ...call,
      riskTier: call.riskTier ?? tier.name,
      call: async (request) => {
        const response = await work(request);
        given = confidence ?? confidenceOf?.(response);
        hasAnswered = true;
        return response;
      },
      judge: ({
        costUsd,
        hallucinationRiskScore: hallucinationRisk,
        evidenceRiskScore: evidenceRisk,
        confidence: around,
      }) => {
        if (!hasAnswered) return {};
        const signals = { costUsd, hallucinationRisk, evidenceRisk, confidence: given ?? around };
        verdict = judgeByTier(tier, signals);
        return { confidence: verdict.confidence, gateBlocked: !verdict.accepted };
      },
    });
    // There is no verdict only if recording the call failed; then it is not accepted.
    return { result, record, verdict: verdict ?? judgeByTier(tier, { confidence: given, evidenceRisk: 1 }) };
  }

  async #fallBack<T, F>(
    tier: ExecutionTier,
    execution: TieredExecution<T, F>,
    reason: string,
    primary: { readonly response: T; readonly span: SpanReference; readonly verdict: TierVerdict },
  ): Promise<FallbackAnswer<F>> {
    const { deterministicFallback, model, prompt, toolName, promptTemplateId } = execution;
    const riskTier = execution.riskTier ?? tier.name;
    if (deterministicFallback === undefined) {
      const { confidence, hallucinationRisk } = primary.verdict;
      const { response, span: parent } = primary;
      const request = { reason, toolName, model, prompt, response, confidence, hallucinationRisk };
      const outcome = await this.#router(toolName).fallBack({
        ...request,
        riskTier,
        promptTemplateId,
        parent,
      });
      return { ...outcome, response: outcome.response as F };
    }
    const { result, span } = await this.#interceptor.recordFallback<F>({
      fallbackType: 'template',
      fallbackReason: reason,
      toolName,
      prompt,
      riskTier,
      promptTemplateId,
      parent: primary.span,
      call: () => deterministicFallback({ prompt, model }),
    });
    return { response: result, fallbackType: 'template', reviewId: undefined, span };
  }

  /** Checked before any cost: a call whose answer may be refused needs a fallback. */
  #checkFallback<T, F>({ deterministicFallback, toolName, call, mcpResponse }: TieredExecution<T, F>): void {
    if (call === undefined && mcpResponse === undefined) {
      throw new ObservatoryError('INVALID_OPTION', "A tiered execution needs either 'mcpResponse' or 'call'");
    }
    if (deterministicFallback === undefined) this.#router(toolName).routeOf(toolName);
  }

  #router(toolName: string | undefined): FallbackRouter {
    if (this.#fallbacks !== undefined) return this.#fallbacks;
    throw new ObservatoryError(
      'INVALID_OPTION',
      `The call${toolName === undefined ? '' : ` for '${toolName}'`} has no fallback: give it a 'deterministicFallback', or the engine a router as 'fallbacks'`,
    );
  }
}

interface Primary<T> {
  readonly result: T;
  readonly record: ModelCallRecord;
  readonly verdict: TierVerdict;
}

interface FallbackAnswer<F> {
  readonly response: F;
  readonly fallbackType: string;
  readonly reviewId: string | undefined;
  readonly span: SpanReference;
}

const ACCEPTED = {
  source: 'mcp',
  fallbackUsed: false,
  fallbackType: undefined,
  reviewId: undefined,
  fallbackSpan: undefined,
} as const;
