/** Text and cost of results, and the difference between two of them. */
import type { FieldValues } from '../../base/index.ts';
import { readProviderResponse } from '../../interaction/index.ts';
import { canonicalJson } from '../../json/index.ts';
import { numericVarianceScore, priceUsage, selfConsistencyScore } from '../../signals/index.ts';

/** Longer answers are truncated for comparison, to keep the event loop responsive. */
const MAX_CHARS = 262_144;

/** Characters of words as the score sees them; texts without any cannot be compared. */
const ASCII_WORD = /[A-Za-z0-9]/;

/** The compared part of a result's text. */
export function textOfResult(result: unknown): string | undefined {
  const text = readText(result);
  return text === undefined || text.length <= MAX_CHARS ? text : text.slice(0, MAX_CHARS);
}

function readText(result: unknown): string | undefined {
  if (typeof result === 'string') return result;
  if (result === undefined || result === null) return undefined;
  const ghost = readGhost(result);
  if (ghost !== undefined) return ghost.answer === null ? undefined : readText(ghost.answer);
  return readProviderResponse(result).answer ?? asJson(result);
}

/** Cost of a result in US dollars, if known. */
export function costOfResult(result: unknown): number | undefined {
  const ghost = readGhost(result);
  if (ghost !== undefined) return typeof ghost.costUsd === 'number' ? ghost.costUsd : undefined;
  const { usage, model, provider, serviceTier, costUsd } = readProviderResponse(result);
  if (usage === undefined && costUsd === undefined) return undefined;
  return priceUsage({ usage, model, provider, serviceTier, providerCostUsd: costUsd, at: new Date() })
    .costUsd;
}

/** Difference between two answers, as numbers and as span fields. */
export interface TextScores {
  readonly agreement?: number | undefined;
  readonly numericVariance?: number | undefined;
  readonly fields: FieldValues;
}

export type ScoreTexts = (primary: string, candidate: string) => TextScores;

export const compareTexts: ScoreTexts = (primary, candidate) => {
  const agreement = computeAgreement(primary, candidate);
  const numericVariance = numericVarianceScore(primary, candidate);
  const fields = {
    ...(agreement === undefined ? {} : { shadow_disagreement_score: 1 - agreement }),
    shadow_numeric_variance: numericVariance,
  };
  return { agreement, numericVariance, fields };
};

export const compareAnswers: ScoreTexts = (first, second) => {
  const agreement = computeAgreement(first, second);
  const numericVariance = numericVarianceScore(first, second);
  const fields = {
    ...(agreement === undefined ? {} : { self_consistency_score: agreement }),
    numeric_variance_score: numericVariance,
  };
  return { agreement, numericVariance, fields };
};

/** The overlap of words; undefined for texts without such words. */
function computeAgreement(primary: string, candidate: string): number | undefined {
  if (primary === candidate) return 1;
  if (!ASCII_WORD.test(primary) && !ASCII_WORD.test(candidate)) return undefined;
  return selfConsistencyScore(primary, candidate);
}

/** A result of `mcpGhost`, recognized by shape, because this folder may not import the orchestrator. */
function readGhost(result: unknown): { answer: unknown; costUsd: unknown } | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  if (!('finalResult' in result && 'executionMetadata' in result)) return undefined;
  const { executionMetadata: metadata } = result;
  if (typeof metadata !== 'object' || metadata === null) return undefined;
  return { answer: result.finalResult, costUsd: 'costUsd' in metadata ? metadata.costUsd : undefined };
}

function asJson(result: unknown): string | undefined {
  try {
    return canonicalJson(result);
  } catch {
    // Streams, class instances with methods and the like have no text.
    return undefined;
  }
}
