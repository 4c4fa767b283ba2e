import {
  type Attributes,
  type Counter,
  type Histogram,
  type MeterProvider,
  metrics,
} from '@opentelemetry/api';
import type { FieldValues } from '../base/index.ts';
import {
  ATTR_GEN_AI_PROVIDER_NAME,
  ATTR_GEN_AI_REQUEST_MODEL,
  BoundedNames,
  VERSION,
} from '../base/index.ts';

/** Borders of the risk's buckets: the levels' own (0.20 and 0.35) and steps between. */
const RISK = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/** Names of one attribute that get series of their own; a program may take them from its requests. */
const MAX_NAMES = 50;

const ATTR_TEMPLATE = 'observatory.prompt_template_id';
const ATTR_SHADOW = 'observatory.is_shadow';
const ATTR_COST_SOURCE = 'observatory.cost_source';

interface Instruments {
  readonly provider: MeterProvider;
  readonly cost: Counter;
  readonly risk: Histogram;
}

/**
 * What model calls cost and how risky their answers are, as metrics: the counter `observatory.cost` in US dollars and
 * the histogram `observatory.hallucination_risk`. Both tell provider, requested model, prompt template and whether the
 * call was a shadow run; of each at most 50 names, all others are `_other`.
 *
 * Only calls whose span is sampled are counted, since the others are never seen.
 */
export class SpendMetrics {
  readonly #given: MeterProvider | undefined;
  readonly #bounded: ReadonlyMap<string, BoundedNames> = new Map([
    [ATTR_GEN_AI_PROVIDER_NAME, new BoundedNames(MAX_NAMES)],
    [ATTR_GEN_AI_REQUEST_MODEL, new BoundedNames(MAX_NAMES)],
    [ATTR_TEMPLATE, new BoundedNames(MAX_NAMES)],
  ]);
  #instruments: Instruments | undefined;

  /** @param meterProvider where the metrics go; the global one, as it is when a call ends, when none is given. */
  constructor(meterProvider?: MeterProvider) {
    this.#given = meterProvider;
  }

  /**
   * Records a call that ended.
   * @param attributes of its span, its fields included.
   * @param values what was computed for it, for a span that had no room for them.
   */
  record(attributes: Readonly<Record<string, unknown>>, values: FieldValues): void {
    const cost = numberOf(attributes['observatory.cost_usd']) ?? values.cost_usd;
    const risk =
      numberOf(attributes['observatory.hallucination_risk_score']) ?? values.hallucination_risk_score;
    if (cost === undefined && risk === undefined) return;
    const instruments = this.#current();
    const about = this.#describe(attributes, values);
    if (risk !== undefined) instruments.risk.record(risk, about);
    if (cost === undefined) return;
    // A cost that was not computed here was set by the application.
    const source = values.cost_usd === undefined ? 'application' : (values.cost_source ?? 'unknown');
    instruments.cost.add(cost, { ...about, [ATTR_COST_SOURCE]: source });
  }

  #describe(attributes: Readonly<Record<string, unknown>>, values: FieldValues): Attributes {
    const about: Attributes = { [ATTR_SHADOW]: attributes[ATTR_SHADOW] === true };
    for (const [name, names] of this.#bounded) {
      const value = attributes[name] ?? byColumn(name, values);
      if (typeof value === 'string') about[name] = names.admit(value);
    }
    return about;
  }

  /** Instruments of the provider that holds now: an application may register it after the processor was made. */
  #current(): Instruments {
    const provider = this.#given ?? metrics.getMeterProvider();
    if (this.#instruments?.provider === provider) return this.#instruments;
    const meter = provider.getMeter('mcp-observatory', VERSION);
    this.#instruments = {
      provider,
      cost: meter.createCounter('observatory.cost', {
        unit: 'USD',
        description: 'Estimated spend on model calls',
      }),
      risk: meter.createHistogram('observatory.hallucination_risk', {
        unit: '1',
        description: 'Composite hallucination risk of answers, 0 to 1',
        advice: { explicitBucketBoundaries: [...RISK] },
      }),
    };
    return this.#instruments;
  }
}

/** Spans of other dialects have no standard attribute; the field tells the same. */
function byColumn(name: string, values: FieldValues): unknown {
  if (name === ATTR_GEN_AI_PROVIDER_NAME) return values.provider;
  return name === ATTR_GEN_AI_REQUEST_MODEL ? values.model : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : undefined;
}
