import type { Attributes } from '@opentelemetry/api';
import { responseAttributes } from '../interaction/index.ts';
import type { Completion } from './providers/index.ts';

const ATTR_TIME_TO_FIRST_CHUNK = 'gen_ai.response.time_to_first_chunk';
export const ATTR_RETRIES = 'observatory.retries';

/** What the span of a model call says of its answer. */
export function completionAttributes(completion: Completion): Attributes {
  const { model, responseId, usage, rawFinishReason, finishReason, timeToFirstChunkMs, failedAttempts } =
    completion;
  return {
    ...responseAttributes({
      model,
      responseId,
      usage,
      finishReasons: [rawFinishReason ?? finishReason],
    }),
    ...(timeToFirstChunkMs === undefined ? {} : { [ATTR_TIME_TO_FIRST_CHUNK]: timeToFirstChunkMs / 1000 }),
    ...(failedAttempts.length === 0 ? {} : { [ATTR_RETRIES]: failedAttempts.length }),
  };
}
