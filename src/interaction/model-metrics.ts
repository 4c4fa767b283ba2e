import type { Attributes, Histogram, Meter } from '@opentelemetry/api';
import { semconv } from '../base/index.ts';
import type { TokenUsage } from '../signals/index.ts';

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
      advice: { explicitBucketBoundaries: [...semconv.GEN_AI_DURATION_BUCKETS] },
    });
  return {
    enabled: meter.constructor.name !== 'NoopMeter',
    operationDuration: seconds(
      semconv.METRIC_GEN_AI_CLIENT_OPERATION_DURATION,
      'GenAI operation duration, from the call to the end of its response.',
    ),
    timeToFirstChunk: seconds(
      semconv.METRIC_GEN_AI_CLIENT_TIME_TO_FIRST_CHUNK,
      'Time from the call to the first chunk of a streamed response.',
    ),
    timePerOutputChunk: seconds(
      semconv.METRIC_GEN_AI_CLIENT_TIME_PER_OUTPUT_CHUNK,
      'Time between two chunks of a streamed response, for each chunk after the first.',
    ),
    tokenUsage: meter.createHistogram(semconv.METRIC_GEN_AI_CLIENT_TOKEN_USAGE, {
      unit: '{token}',
      description: 'Number of input and output tokens used.',
      advice: { explicitBucketBoundaries: [...semconv.GEN_AI_TOKEN_BUCKETS] },
    }),
  };
}

/**
 * Records a call that has ended, whatever its end was.
 * @param about the attributes of the call, `error.type` among them when it failed.
 */
export function recordModelCall(
  { operationDuration, tokenUsage }: ModelMetrics,
  about: Attributes,
  usage: TokenUsage | undefined,
  seconds: number,
): void {
  operationDuration.record(seconds, about);
  const { inputTokens, outputTokens } = usage ?? {};
  if (inputTokens !== undefined)
    tokenUsage.record(inputTokens, { ...about, [semconv.ATTR_GEN_AI_TOKEN_TYPE]: 'input' });
  if (outputTokens !== undefined)
    tokenUsage.record(outputTokens, { ...about, [semconv.ATTR_GEN_AI_TOKEN_TYPE]: 'output' });
}
