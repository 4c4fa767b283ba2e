import type { Attributes, Histogram, Meter } from '@opentelemetry/api';
import { semconv as names } from '../../base/index.ts';
import type { ModelResponse } from './response-reader.ts';
import * as own from './semconv.ts';

/** The histograms of semconv 1.41 for model calls. */
export interface ModelMetrics {
  /** False where no meter provider is set: then nothing is computed for them. */
  readonly enabled: boolean;
  readonly operationDuration: Histogram;
  readonly tokenUsage: Histogram;
  readonly timeToFirstChunk: Histogram;
  readonly timePerOutputChunk: Histogram;
}

export function createModelMetrics(meter: Meter): ModelMetrics {
  const seconds = (name: string, description: string): Histogram =>
    meter.createHistogram(name, {
      unit: 's',
      description,
      advice: { explicitBucketBoundaries: [...names.GEN_AI_DURATION_BUCKETS] },
    });
  return {
    enabled: meter.constructor.name !== 'NoopMeter',
    operationDuration: seconds(
      'gen_ai.client.operation.duration',
      'GenAI operation duration, from the call to the end of its response.',
    ),
    timeToFirstChunk: seconds(
      'gen_ai.client.operation.time_to_first_chunk',
      'Time from the call to the first chunk of a streamed response.',
    ),
    timePerOutputChunk: seconds(
      'gen_ai.client.operation.time_per_output_chunk',
      'Time between two chunks of a streamed response, for each chunk after the first.',
    ),
    tokenUsage: meter.createHistogram('gen_ai.client.token.usage', {
      unit: '{token}',
      description: 'Number of input and output tokens used.',
      advice: { explicitBucketBoundaries: [...names.GEN_AI_TOKEN_BUCKETS] },
    }),
  };
}

/** Records a call that has ended, whatever its end was. */
export function recordCall(
  { operationDuration, tokenUsage }: ModelMetrics,
  identity: Attributes,
  response: ModelResponse,
  errorType: string | undefined,
  seconds: number,
): void {
  const dimensions: Attributes = { ...identity };
  if (response.model !== undefined) dimensions[names.ATTR_GEN_AI_RESPONSE_MODEL] = response.model;
  if (errorType !== undefined) dimensions[names.ATTR_ERROR_TYPE] = errorType;
  operationDuration.record(seconds, dimensions);
  const { inputTokens, outputTokens } = response.usage ?? {};
  if (inputTokens !== undefined) {
    tokenUsage.record(inputTokens, { ...dimensions, [own.ATTR_GEN_AI_TOKEN_TYPE]: 'input' });
  }
  if (outputTokens !== undefined) {
    tokenUsage.record(outputTokens, { ...dimensions, [own.ATTR_GEN_AI_TOKEN_TYPE]: 'output' });
  }
}
