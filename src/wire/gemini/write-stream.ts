import { parseOrKeep, readObject } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import type { WrittenAnswer } from '../contract/index.ts';

/** An answer as `streamGenerateContent` gives it, in one chunk. */
export function writeContentStream({ id, model, text, calls, finishReason, usage }: WrittenAnswer): string[] {
  const parts = [
    ...(text === '' ? [] : [{ text }]),
    ...calls.map(({ id, name, argumentsText }) => ({
      // The API has an object here, empty where the model wrote none.
      functionCall: { id, name, args: readObject(parseOrKeep(argumentsText)) },
    })),
  ];
  const chunk = {
    candidates: [{ content: { role: 'model', parts }, finishReason: finishReason ?? 'STOP', index: 0 }],
    ...(usage === undefined ? {} : { usageMetadata: writeUsage(usage) }),
    modelVersion: model,
    responseId: id,
  };
  return [`data: ${JSON.stringify(chunk)}\r\n\r\n`];
}

/** Gemini counts thoughts beside the tokens of its candidates. */
function writeUsage({
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
