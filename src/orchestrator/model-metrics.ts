import { type Attributes, type Histogram, metrics } from '@opentelemetry/api';
import { VERSION } from '../version.ts';
import type { Completion } from './providers/index.ts';

/** Bucket borders of semconv 1.41 for durations of model calls, in seconds. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/** Bucket borders of semconv 1.41 for tokens: powers of four. */
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

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
      advice: { explicitBucketBoundaries: SECONDS },
    });
    this.#firstChunk = meter.createHistogram('gen_ai.client.operation.time_to_first_chunk', {
      unit: 's',
      description: 'Time from the call to the first chunk of a streamed response.',
      advice: { explicitBucketBoundaries: SECONDS },
    });
    this.#tokens = meter.createHistogram('gen_ai.client.token.usage', {
      unit: '{token}',
      description: 'Number of input and output tokens used.',
      advice: { explicitBucketBoundaries: TOKENS },
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
