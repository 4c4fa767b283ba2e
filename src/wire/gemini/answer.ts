import { countOf, isObject, type JsonObject, listOf, objectOf, sumOf, textOf } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import {
  type Answer,
  type AssistantPart,
  type Choice,
  checkArguments,
  readFinishReason,
} from '../contract/index.ts';
import { readGeminiError } from './error.ts';

/** In semconv words. */
export const GEMINI_NAME = 'gcp.gemini';

/** Reads a `GenerateContentResponse`, from the Gemini API or Vertex AI. */
export function readContent(whole: unknown): Answer {
  const response = objectOf(whole);
  const candidates = listOf(response.candidates).filter(isObject);
  // A refused prompt has no candidates; the reason is next to them.
  const blocked = textOf(objectOf(response.promptFeedback).blockReason);
  const reasons = candidates.length === 0 ? [blocked] : candidates.map(reasonOf);
  const id = textOf(response.responseId);
  return {
    provider: GEMINI_NAME,
    id,
    model: textOf(response.modelVersion),
    finishReasons: reasons.filter((reason) => reason !== undefined),
    usage: readContentUsage(response.usageMetadata),
    toolCallCount: candidates.flatMap(partsOf).filter(isCall).length,
    error: isObject(response.error) ? readGeminiError(response) : undefined,
    choices: () => {
      if (candidates.length > 0) return candidates.map((candidate) => choiceOf(candidate, id));
      return blocked === undefined
        ? []
        : [{ parts: [], finishReason: 'content_filter', rawFinishReason: blocked }];
    },
  };
}

function choiceOf(candidate: JsonObject, responseId: string | undefined): Choice {
  let assigned = 0;
  const newId = () => `call_${responseId ?? 'gemini'}_${assigned++}`;
  const parts = partsOf(candidate).map((part) => readPart(part, newId));
  const raw = reasonOf(candidate);
  const reason = readFinishReason(raw);
  const isCalling = reason === 'stop' && parts.some(({ type }) => type === 'tool_call');
  return { parts, finishReason: isCalling ? 'tool_calls' : reason, rawFinishReason: raw };
}

function reasonOf(candidate: JsonObject): string | undefined {
  return textOf(candidate.finishReason);
}

function partsOf(candidate: JsonObject): readonly JsonObject[] {
  return listOf(objectOf(candidate.content).parts).filter(isObject);
}

/** A call without a name is a piece of one whose beginning is lost. */
function isCall(part: JsonObject): boolean {
  return Boolean(textOf(objectOf(part.functionCall).name));
}

function readPart(part: JsonObject, newId: () => string): AssistantPart {
  const thoughtSignature = textOf(part.thoughtSignature);
  const signature = thoughtSignature === undefined ? {} : { thoughtSignature };
  if (isCall(part)) {
    const { id, name, args } = objectOf(part.functionCall);
    const identity = textOf(id) ? { id: textOf(id) ?? '' } : { id: newId(), idAssigned: true };
    return {
      type: 'tool_call',
      ...identity,
      name: textOf(name) ?? '',
      ...checkArguments(args),
      ...signature,
    };
  }
  const text = textOf(part.text);
  if (text !== undefined && part.thought === true)
    return { type: 'reasoning', text, provider: GEMINI_NAME, raw: part };
  if (text !== undefined) return { type: 'text', text, ...signature };
  const { mimeType, data } = objectOf(part.inlineData);
  if (textOf(mimeType)?.startsWith('image/') && typeof data === 'string' && thoughtSignature === undefined)
    return { type: 'image', mimeType: String(mimeType), data };
  return { type: 'opaque', provider: GEMINI_NAME, raw: part };
}

/**
 * Gemini counts thoughts beside the answer and tool-use prompts beside the prompt; semconv counts both in.
 * Worked: prompt 393, answer 28, thoughts 26 is 393 input and 54 output tokens, 26 of them reasoning.
 */
export function readContentUsage(value: unknown): TokenUsage | undefined {
  const usage = objectOf(value);
  const reasoningTokens = countOf(usage.thoughtsTokenCount);
  const inputTokens = sumOf(countOf(usage.promptTokenCount), countOf(usage.toolUsePromptTokenCount));
  const outputTokens = sumOf(countOf(usage.candidatesTokenCount), reasoningTokens);
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens: countOf(usage.cachedContentTokenCount),
    reasoningTokens,
  };
}
