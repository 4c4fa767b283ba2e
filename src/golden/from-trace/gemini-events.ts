import type { TokenUsage } from '../../signals/index.ts';
import type { StoredTurn } from './stored-run.ts';
import { callsOf, textOf } from './turn-parts.ts';

/** A turn as `streamGenerateContent` gives it, in one chunk. Thoughts and signatures are not in the trace. */
export function geminiEvents(turn: StoredTurn, index: number): string[] {
  const text = textOf(turn);
  const parts = [
    ...(text === '' ? [] : [{ text }]),
    ...callsOf(turn).map(({ id, name, argumentsText }) => ({
      functionCall: { id, name, args: objectOf(argumentsText) },
    })),
  ];
  const chunk = {
    candidates: [{ content: { role: 'model', parts }, finishReason: turn.finishReason ?? 'STOP', index: 0 }],
    ...(turn.usage === undefined ? {} : { usageMetadata: usageOf(turn.usage) }),
    modelVersion: turn.model,
    responseId: turn.responseId ?? `trace-${index}`,
  };
  return [`data: ${JSON.stringify(chunk)}\r\n\r\n`];
}

/** Gemini counts thoughts apart from the tokens of its candidates. */
function usageOf({
  inputTokens = 0,
  outputTokens = 0,
  cacheReadTokens,
  reasoningTokens = 0,
}: TokenUsage): object {
  return {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens - reasoningTokens,
    totalTokenCount: inputTokens + outputTokens,
    ...(reasoningTokens === 0 ? {} : { thoughtsTokenCount: reasoningTokens }),
    ...(cacheReadTokens === undefined ? {} : { cachedContentTokenCount: cacheReadTokens }),
  };
}

/** Gemini's arguments are an object; a text that is none stands for no arguments, as the API would leave it out. */
function objectOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
