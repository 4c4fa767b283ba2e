import { type Counter, type Histogram, type MeterProvider, metrics } from '@opentelemetry/api';
import { BoundedNames, VERSION } from '../../base/index.ts';

/** Maximum number of distinct shadow names; a program might create one per request. */
const names = new BoundedNames(50);

const ATTR_NAME = 'observatory.shadow.name';
const ATTR_OUTCOME = 'observatory.shadow.outcome';

/**
 * The counter `observatory.shadow.runs` by outcome, skipped ones as `skipped_<reason>`, and the histogram
 * `observatory.shadow.disagreement` of compared pairs.
 */
export class ShadowMetrics {
  readonly #given: MeterProvider | undefined;
  readonly #name: string;
  #current:
    | { readonly provider: MeterProvider; readonly runs: Counter; readonly scores: Histogram }
    | undefined;

  constructor(name: string, meterProvider?: MeterProvider) {
    this.#name = name;
    this.#given = meterProvider;
  }

  count(outcome: string): void {
    this.#instruments().runs.add(1, { [ATTR_NAME]: names.admit(this.#name), [ATTR_OUTCOME]: outcome });
  }

  disagreement(score: number): void {
    this.#instruments().scores.record(score, { [ATTR_NAME]: names.admit(this.#name) });
  }

  #instruments() {
    const provider = this.#given ?? metrics.getMeterProvider();
    if (this.#current?.provider !== provider) {
      const meter = provider.getMeter('mcp-observatory', VERSION);
      this.#current = {
        provider,
        runs: meter.createCounter('observatory.shadow.runs', {
          unit: '{run}',
          description: 'Shadow runs by outcome',
        }),
        scores: meter.createHistogram('observatory.shadow.disagreement', {
          unit: '1',
          description: 'Disagreement of shadow and primary answers, 0 to 1',
          advice: { explicitBucketBoundaries: [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] },
        }),
      };
    }
    return this.#current;
  }
}
