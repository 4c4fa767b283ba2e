import { isObject, type JsonObject, readList, readObject, toText } from '../../json/index.ts';
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
  const response = readObject(whole);
  const candidates = readList(response.candidates).filter(isObject);
  // A refused prompt has no candidates; the reason is next to them.
  const blocked = toText(readObject(response.promptFeedback).blockReason);
  const reasons = candidates.length === 0 ? [blocked] : candidates.map(readReason);
  const id = toText(response.responseId);
  return {
    provider: GEMINI_NAME,
    id,
    model: toText(response.modelVersion),
    finishReasons: reasons.filter((reason) => reason !== undefined),
    usage: withSearches(readUsageObject(response.usageMetadata), candidates),
    serviceTier: readServiceTier(response.usageMetadata),
    toolCallCount: candidates.flatMap(readParts).filter(isCall).length,
    error: isObject(response.error) ? readGeminiError(response) : undefined,
    choices: () => {
      if (candidates.length > 0) return candidates.map((candidate) => readChoice(candidate, id));
      return blocked === undefined
        ? []
        : [{ parts: [], finishReason: 'content_filter', rawFinishReason: blocked }];
    },
  };
}

function readChoice(candidate: JsonObject, responseId: string | undefined): Choice {
  let assigned = 0;
  const newId = () => `call_${responseId ?? 'gemini'}_${assigned++}`;
  const parts = readParts(candidate).map((part) => readPart(part, newId));
  const raw = readReason(candidate);
  const reason = readFinishReason(raw);
  const isCalling = reason === 'stop' && parts.some(({ type }) => type === 'tool_call');
  return { parts, finishReason: isCalling ? 'tool_calls' : reason, rawFinishReason: raw };
}

function readReason(candidate: JsonObject): string | undefined {
  return toText(candidate.finishReason);
}

function readParts(candidate: JsonObject): readonly JsonObject[] {
  return readList(readObject(candidate.content).parts).filter(isObject);
}

/** A call without a name is a piece of one whose beginning is lost. */
function isCall(part: JsonObject): boolean {
  return Boolean(toText(readObject(part.functionCall).name));
}

function readPart(part: JsonObject, newId: () => string): AssistantPart {
  const thoughtSignature = toText(part.thoughtSignature);
  const signature = thoughtSignature === undefined ? {} : { thoughtSignature };
  if (isCall(part)) {
    const { id, name, args } = readObject(part.functionCall);
    const identity = toText(id) ? { id: toText(id) ?? '' } : { id: newId(), idAssigned: true };
    return {
      type: 'tool_call',
      ...identity,
      name: toText(name) ?? '',
      ...checkArguments(args),
      ...signature,
    };
  }
  const text = toText(part.text);
  if (text !== undefined && part.thought === true)
    return { type: 'reasoning', text, provider: GEMINI_NAME, raw: part };
  if (text !== undefined) return { type: 'text', text, ...signature };
  const { mimeType, data } = readObject(part.inlineData);
  if (toText(mimeType)?.startsWith('image/') && typeof data === 'string' && thoughtSignature === undefined)
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
    webSearches += readList(readObject(groundingMetadata).webSearchQueries).length;
  }
  return usage === undefined || webSearches === 0 ? usage : { ...usage, webSearches };
}
