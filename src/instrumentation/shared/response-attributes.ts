import type { Attributes } from '@opentelemetry/api';
import { semconv as names } from '../../base/index.ts';
import { addResponse } from '../../interaction/index.ts';
import type { ModelResponse } from './response-reader.ts';

/** Adds the attributes of a response that hold no content. */
export function addAnswer(attributes: Attributes, response: ModelResponse): void {
  const { id: responseId, model, usage } = response;
  if (response.attributes !== undefined) Object.assign(attributes, response.attributes);
  addResponse(attributes, { responseId, model, usage });
  addEnd(attributes, response);
}

/** Adds what the spans an SDK makes by itself leave out. */
export function addToNative(attributes: Attributes, response: ModelResponse): void {
  const cacheWrite = response.usage?.cacheWriteTokens;
  if (cacheWrite !== undefined) attributes[names.ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS] = cacheWrite;
  addEnd(attributes, response);
}

function addEnd(attributes: Attributes, { toolCallCount, finishReasons: reasons }: ModelResponse): void {
  if (reasons.length > 0) attributes[names.ATTR_GEN_AI_RESPONSE_FINISH_REASONS] = [...reasons];
  if (toolCallCount > 0) attributes[names.ATTR_TOOL_CALL_COUNT] = toolCallCount;
}
