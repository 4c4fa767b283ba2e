import { countOf, isObject, type JsonObject, listOf, objectOf, textOf } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import type { ProviderResponse, ResponseReader } from './types.ts';

/** Gemini's `generateContent`, from the Gemini API and Vertex AI. A refused prompt has no candidates. */
export const geminiGenerateContent: ResponseReader = {
  matches: (value) => Array.isArray(value.candidates) || isObject(value.usageMetadata),
  read: (value): ProviderResponse => {
    const candidates = listOf(value.candidates).map(objectOf);
    const parts = listOf(objectOf(candidates[0]?.content).parts).filter(isObject);
    const texts = parts.filter((part) => part.thought !== true).map((part) => textOf(part.text));
    const answer = texts.filter((text) => text !== undefined);
    const reasons = candidates.map((candidate) => textOf(candidate.finishReason));
    const given = reasons.filter((reason) => reason !== undefined);
    return {
      provider: 'gcp.gemini',
      answer: answer.length === 0 ? undefined : answer.join(''),
      model: textOf(value.modelVersion),
      responseId: textOf(value.responseId),
      finishReasons: given.length === 0 ? undefined : given,
      usage: readGeminiUsage(value.usageMetadata),
      toolCalls: parts.flatMap(readCall),
    };
  },
};

function readCall(part: JsonObject) {
  if (!isObject(part.functionCall)) return [];
  const { id, name, args } = part.functionCall;
  return [{ id: textOf(id), name: textOf(name), arguments: args }];
}

/**
 * Gemini counts apart what the conventions count together: input = promptTokenCount (cached included) +
 * toolUsePromptTokenCount; output = candidatesTokenCount + thoughtsTokenCount.
 */
export function readGeminiUsage(value: unknown): TokenUsage | undefined {
  if (!isObject(value)) return undefined;
  const thoughts = countOf(value.thoughtsTokenCount);
  const inputTokens = sum(countOf(value.promptTokenCount), countOf(value.toolUsePromptTokenCount));
  const outputTokens = sum(countOf(value.candidatesTokenCount), thoughts);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens: countOf(value.cachedContentTokenCount),
    reasoningTokens: thoughts,
  };
}

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0);
}
