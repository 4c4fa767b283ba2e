import type { Histogram, Meter } from '@opentelemetry/api';

/** Bucket borders of semconv 1.41 for durations of model calls, in seconds. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/** Bucket borders of semconv 1.41 for tokens: powers of four. */
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

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
      advice: { explicitBucketBoundaries: [...SECONDS] },
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
      advice: { explicitBucketBoundaries: [...TOKENS] },
    }),
  };
}
