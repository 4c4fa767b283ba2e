import { isObject, type JsonObject, listOf, objectOf, textOf } from '../../json/index.ts';
import { readServiceTier, readUsageObject, type TokenUsage } from '../../signals/index.ts';
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
    usage: withSearches(readUsageObject(response.usageMetadata), candidates),
    serviceTier: readServiceTier(response.usageMetadata),
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

/** Adds the searches that Google made, which it charges apart and does not count. */
function withSearches(
  usage: TokenUsage | undefined,
  candidates: readonly JsonObject[],
): TokenUsage | undefined {
  let webSearches = 0;
  for (const { groundingMetadata } of candidates) {
    webSearches += listOf(objectOf(groundingMetadata).webSearchQueries).length;
  }
  return usage === undefined || webSearches === 0 ? usage : { ...usage, webSearches };
}
