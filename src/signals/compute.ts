import type { FieldValues } from '../base/index.ts';
import { reportVerifierError, type SignalConfig } from './config.ts';
import { LARGE_CHARS, type TextIdentity, takeSample, textIdentity } from './large-texts.ts';
import { type Numbers, numericVariance } from './numbers.ts';
import { SHORT_TEXT_BYTES, SUCCESS, toPhrases } from './phrases.ts';
import { hallucinationRisk, hallucinationRiskLevel } from './risk.ts';
import { ANSWER, CONTEXT, SECOND_ANSWER } from './token-sets.ts';
import { heuristicVerdict, type VerifierResult } from './verifier.ts';
import {
  encodeAndNormalize,
  encodeForTokens,
  normalized,
  numbersInSource,
  release,
  shareTokenSets,
  source,
} from './workspace.ts';

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
  /** @internal What was found out of long texts ahead, in steps. */
  readonly identities?: TextIdentities | undefined;
}

/** Identities of the texts that are hashed. */
export interface TextIdentities {
  readonly prompt?: TextIdentity | undefined;
  readonly answer?: TextIdentity | undefined;
}

type Draft = { -readonly [Name in keyof FieldValues]: FieldValues[Name] };

/**
 * Computes all signals of one call in linear time, reading each text once; of a text of more than a megabyte the scores
 * read a sample. Without an answer only the prompt's identity
 * is returned; the scores need one. A signal is absent when its input is missing or it is switched off.
 * @param evidence the `evidence_*` fields of the answer, or `'failed'` where they could not be computed.
 */
export function computeSignals(
  input: SignalInput,
  config: SignalConfig,
  evidence: FieldValues | 'failed' = NO_FIELDS,
): FieldValues {
  const signals: Draft = {};
  if (input.prompt === undefined && input.answer === undefined) return signals;
  if (input.prompt !== undefined) addPrompt(signals, input.prompt, input.identities?.prompt, config);
  if (input.answer !== undefined) addScores(signals, input, input.answer, config, evidence);
  release();
  return signals;
}

function addPrompt(
  signals: Draft,
  prompt: string,
  known: TextIdentity | undefined,
  config: SignalConfig,
): void {
  const identity = known ?? (prompt.length > LARGE_CHARS ? textIdentity(prompt, true) : undefined);
  if (identity !== undefined) {
    if (config.enablePromptHash) {
      signals.prompt_hash = identity.hash;
      signals.normalized_prompt_hash = identity.normalizedHash;
    }
    signals.prompt_size_chars = identity.codePoints;
    return;
  }
  if (config.enablePromptHash) {
    encodeAndNormalize(prompt, true);
    signals.prompt_hash = source.sha256();
    signals.normalized_prompt_hash = normalized.sha256();
  } else source.encode(prompt);
  signals.prompt_size_chars = source.codePoints();
}

/** The hash of a large answer's normal form. */
function largeAnswerHash(answer: string, known: TextIdentity | undefined): string {
  return (known ?? textIdentity(answer, false)).normalizedHash;
}

const NO_FIELDS: FieldValues = {};

function addScores(
  signals: Draft,
  input: SignalInput,
  answer: string,
  config: SignalConfig,
  evidence: FieldValues | 'failed',
): void {
  const { retrievedContext: context, secondaryAnswer: second, toolResultSummary: summary } = input;
  const part = takeSample(answer);
  const isWhole = part === answer;
  if (!isWhole && config.enablePromptHash)
    signals.answer_hash = largeAnswerHash(answer, input.identities?.answer);
  encodeAndNormalize(part, false);
  if (isWhole && config.enablePromptHash) signals.answer_hash = normalized.sha256();
  const tokenSets = shareTokenSets();
  let phrases: number;
  if (normalized.length > SHORT_TEXT_BYTES || isCompared(input, config)) {
    tokenSets.reset(Math.min(LARGE_CHARS, Math.max(answer.length, context?.length ?? 0)));
    tokenSets.add(normalized, ANSWER);
    phrases = tokenSets.phrases;
  } else phrases = toPhrases(normalized);
  const numbers: Numbers = config.enableNumericVariance ? numbersInSource() : [];

  let grounding: number | undefined;
  if (context !== undefined && (config.enableGroundingScore || config.enableVerifier)) {
    tokenSets.add(encodeForTokens(takeSample(context)), CONTEXT);
    grounding = tokenSets.similarity(CONTEXT);
    if (config.enableGroundingScore) signals.grounding_score = grounding;
  }
  if (second !== undefined) {
    if (config.enableSelfConsistency) {
      tokenSets.add(encodeForTokens(takeSample(second)), SECOND_ANSWER);
      signals.self_consistency_score = tokenSets.similarity(SECOND_ANSWER);
    } else if (config.enableNumericVariance) source.encode(takeSample(second));
  }
  if (config.enableNumericVariance) {
    const others = second === undefined ? undefined : numbersInSource();
    signals.numeric_variance_score = numericVariance(numbers, others);
  }
  if (config.enableToolClaimMismatch && summary !== undefined) {
    signals.tool_claim_mismatch = (phrases & SUCCESS) !== 0 && reportsFailure(takeSample(summary));
  }
  if (evidence !== 'failed') Object.assign(signals, evidence);
  if (config.enableVerifier && config.verifier === 'evidence' && evidence === 'failed')
    signals.verifier_reason = 'evidence_failed';
  else if (config.enableVerifier) {
    const verdict = evidenceVerdict(signals, config) ?? verify(input, answer, phrases, grounding, config);
    if (verdict !== undefined) {
      signals.verifier_score = verdict.score;
      signals.verifier_reason = verdict.reason;
    }
  }
  const risk = hallucinationRisk(signals, config.weights);
  if (risk !== undefined) {
    signals.hallucination_risk_score = risk;
    signals.hallucination_risk_level = hallucinationRiskLevel(risk, config.levels);
  }
}

/** Whether a score needs the words of the answer, to compare them with others. */
function isCompared({ retrievedContext, secondaryAnswer }: SignalInput, config: SignalConfig): boolean {
  if (retrievedContext !== undefined && (config.enableGroundingScore || config.enableVerifier)) return true;
  return secondaryAnswer !== undefined && config.enableSelfConsistency;
}

/** Whether a tool's summary speaks of a failure, in any case, anywhere. */
function reportsFailure(summary: string): boolean {
  const lower = summary.toLowerCase();
  return ['failed', 'error', 'declined'].some((word) => lower.includes(word));
}

function evidenceVerdict(signals: FieldValues, config: SignalConfig): VerifierResult | undefined {
  const risk = signals.evidence_risk_score;
  if (config.verifier !== 'evidence' || risk === undefined) return undefined;
  return { score: 1 - risk, reason: findingKinds(signals.evidence_findings) };
}

/** The verdict of the configured verifier if it is usable, else of the local heuristic. */
function verify(
  input: SignalInput,
  answer: string,
  phrases: number,
  groundingScore: number | undefined,
  config: SignalConfig,
): VerifierResult | undefined {
  const { verifier } = config;
  if (typeof verifier === 'string')
    return heuristicVerdict(phrases, groundingScore, config.lowGroundingThreshold);
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
    reportVerifierError(error, config);
    return undefined;
  }
}

/** The kinds in stored findings, each once, joined by commas; `ok` when there are none. */
function findingKinds(findings: string | undefined): string {
  const kinds = [...(findings ?? '').matchAll(/"kind":"([a-z_]{1,40})"/g)].map((match) => match[1] as string);
  return kinds.length === 0 ? 'ok' : [...new Set(kinds)].join(',');
}
