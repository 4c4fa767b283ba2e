import type { SignalConfig } from './config.ts';
import { extractNumbers, numericVariance } from './numbers.ts';
import { SUCCESS } from './phrases.ts';
import { hallucinationRisk, hallucinationRiskLevel, type RiskLevel } from './risk.ts';
import { ANSWER, CONTEXT, SECOND_ANSWER } from './token-sets.ts';
import { reportsFailure } from './tool-claims.ts';
import { heuristicVerdict, type VerifierResult } from './verifier.ts';
import { encodeAndNormalize, encodeForTokens, normalized, release, source, tokenSets } from './workspace.ts';

/** The texts of one call, each absent when it is not known. */
export interface SignalInput {
  /** The exact final prompt. */
  readonly prompt?: string | undefined;
  readonly answer?: string | undefined;
  /** The evidence the answer should rest on. */
  readonly retrievedContext?: string | undefined;
  /** A second answer to the same prompt. */
  readonly secondaryAnswer?: string | undefined;
  /** What the tool said. */
  readonly toolResultSummary?: string | undefined;
}

/** The signals by column name; absent when their input is missing or they are switched off. */
export interface Signals {
  readonly prompt_hash?: string;
  readonly normalized_prompt_hash?: string;
  readonly prompt_size_chars?: number;
  readonly answer_hash?: string;
  readonly grounding_score?: number;
  readonly verifier_score?: number;
  readonly verifier_reason?: string;
  readonly self_consistency_score?: number;
  readonly numeric_variance_score?: number;
  readonly tool_claim_mismatch?: boolean;
  readonly hallucination_risk_score?: number;
  readonly hallucination_risk_level?: RiskLevel;
}

type Draft = { -readonly [Name in keyof Signals]: Signals[Name] };

/**
 * Computes all signals of one call in linear time, reading each text once. Without an answer only the prompt's identity
 * is returned; the scores need one.
 */
export function computeSignals(input: SignalInput, config: SignalConfig): Signals {
  const signals: Draft = {};
  if (input.prompt !== undefined) addPrompt(signals, input.prompt, config);
  if (input.answer !== undefined) addScores(signals, input, input.answer, config);
  release();
  return signals;
}

function addPrompt(signals: Draft, prompt: string, config: SignalConfig): void {
  if (config.enablePromptHash) {
    encodeAndNormalize(prompt, true);
    signals.prompt_hash = source.sha256();
    signals.normalized_prompt_hash = normalized.sha256();
  } else source.encode(prompt);
  signals.prompt_size_chars = source.codePoints();
}

function addScores(signals: Draft, input: SignalInput, answer: string, config: SignalConfig): void {
  const { retrievedContext: context, secondaryAnswer: second, toolResultSummary: summary } = input;
  const length = Math.max(answer.length, context?.length ?? 0);
  tokenSets.reset(length);
  encodeAndNormalize(answer, false);
  if (config.enablePromptHash) signals.answer_hash = normalized.sha256();
  tokenSets.add(normalized, ANSWER);
  const numbers = config.enableNumericVariance ? extractNumbers(source) : [];

  let grounding: number | undefined;
  if (context !== undefined && (config.enableGroundingScore || config.enableVerifier)) {
    tokenSets.add(encodeForTokens(context), CONTEXT);
    grounding = tokenSets.similarity(CONTEXT);
    if (config.enableGroundingScore) signals.grounding_score = grounding;
  }
  if (second !== undefined) {
    if (config.enableSelfConsistency) {
      tokenSets.add(encodeForTokens(second), SECOND_ANSWER);
      signals.self_consistency_score = tokenSets.similarity(SECOND_ANSWER);
    } else if (config.enableNumericVariance) source.encode(second);
  }
  if (config.enableNumericVariance) {
    const others = second === undefined ? undefined : extractNumbers(source);
    signals.numeric_variance_score = numericVariance(numbers, others);
  }
  if (config.enableToolClaimMismatch && summary !== undefined) {
    signals.tool_claim_mismatch = (tokenSets.phrases & SUCCESS) !== 0 && reportsFailure(summary);
  }
  if (config.enableVerifier) {
    const verdict = verify(input, answer, grounding, config);
    if (verdict !== undefined) {
      signals.verifier_score = verdict.score;
      signals.verifier_reason = verdict.reason;
    }
  }
  const risk = hallucinationRisk(
    {
      groundingScore: signals.grounding_score,
      selfConsistencyScore: signals.self_consistency_score,
      verifierScore: signals.verifier_score,
      numericVarianceScore: signals.numeric_variance_score,
      toolClaimMismatch: signals.tool_claim_mismatch,
    },
    config.weights,
  );
  if (risk !== undefined) {
    signals.hallucination_risk_score = risk;
    signals.hallucination_risk_level = hallucinationRiskLevel(risk, config.levels);
  }
}

/** The verdict of the configured verifier if it is usable, else of the local heuristic. */
function verify(
  input: SignalInput,
  answer: string,
  groundingScore: number | undefined,
  config: SignalConfig,
): VerifierResult | undefined {
  const { verifier } = config;
  if (verifier === undefined)
    return heuristicVerdict(tokenSets.phrases, groundingScore, config.lowGroundingThreshold);
  try {
    const verdict = verifier.score({
      prompt: input.prompt ?? '',
      answer,
      context: input.retrievedContext,
      groundingScore,
    });
    const { score, reason } = verdict;
    if (!(typeof score === 'number' && score >= 0 && score <= 1)) {
      throw new TypeError(`Expected the verifier's score to be a number from 0 to 1, got ${String(score)}`);
    }
    return { score, reason: typeof reason === 'string' ? reason : '' };
  } catch (error) {
    report(error, config);
    return undefined;
  }
}

function report(error: unknown, config: SignalConfig): void {
  try {
    config.onVerifierError?.(error);
  } catch {
    // An error handler that throws must not break the computation.
  }
}
