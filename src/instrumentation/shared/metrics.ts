import type { Histogram, Meter } from '@opentelemetry/api';
import { GEN_AI_DURATION_BUCKETS, GEN_AI_TOKEN_BUCKETS } from '../../semconv.ts';

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
      advice: { explicitBucketBoundaries: [...GEN_AI_DURATION_BUCKETS] },
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
      advice: { explicitBucketBoundaries: [...GEN_AI_TOKEN_BUCKETS] },
    }),
  };
}
