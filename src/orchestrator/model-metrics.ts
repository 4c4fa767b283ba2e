import { type Attributes, type Histogram, metrics } from '@opentelemetry/api';
import { GEN_AI_DURATION_BUCKETS, GEN_AI_TOKEN_BUCKETS, VERSION } from '../base/index.ts';
import type { Completion } from './providers/index.ts';

/** The metrics semconv 1.41 asks for of a model call. */
export class ModelMetrics {
  readonly #duration: Histogram;
  readonly #firstChunk: Histogram;
  readonly #tokens: Histogram;

  constructor() {
    const meter = metrics.getMeter('mcp-observatory', VERSION);
    this.#duration = meter.createHistogram('gen_ai.client.operation.duration', {
      unit: 's',
      description: 'GenAI operation duration, from the call to the end of its response.',
      advice: { explicitBucketBoundaries: [...GEN_AI_DURATION_BUCKETS] },
    });
    this.#firstChunk = meter.createHistogram('gen_ai.client.operation.time_to_first_chunk', {
      unit: 's',
      description: 'Time from the call to the first chunk of a streamed response.',
      advice: { explicitBucketBoundaries: [...GEN_AI_DURATION_BUCKETS] },
    });
    this.#tokens = meter.createHistogram('gen_ai.client.token.usage', {
      unit: '{token}',
      description: 'Number of input and output tokens used.',
      advice: { explicitBucketBoundaries: [...GEN_AI_TOKEN_BUCKETS] },
    });
  }

  record(attributes: Attributes, durationMs: number, completion?: Completion): void {
    this.#duration.record(durationMs / 1000, attributes);
    if (completion?.timeToFirstChunkMs !== undefined) {
      this.#firstChunk.record(completion.timeToFirstChunkMs / 1000, attributes);
    }
    const { inputTokens, outputTokens } = completion?.usage ?? {};
    if (inputTokens !== undefined) {
      this.#tokens.record(inputTokens, { ...attributes, 'gen_ai.token.type': 'input' });
    }
    if (outputTokens !== undefined) {
      this.#tokens.record(outputTokens, { ...attributes, 'gen_ai.token.type': 'output' });
    }
  }
}
