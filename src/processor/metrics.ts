import {
  type Attributes,
  type Counter,
  createNoopMeter,
  type Histogram,
  type MeterProvider,
  metrics,
} from '@opentelemetry/api';
import type { FieldValues } from '../base/index.ts';
import { BoundedNames, semconv, VERSION } from '../base/index.ts';

/** Bucket bounds of the risk histogram, including those of the levels (0.20 and 0.35). */
const RISK = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/** Distinct values per attribute, which may come from requests. */
const MAX_NAMES = 50;

const ATTR_TEMPLATE = 'observatory.prompt_template_id';
const ATTR_SHADOW = 'observatory.is_shadow';
const ATTR_COST_SOURCE = 'observatory.cost_source';

/** What the API gives where no SDK is registered. */
const UNREAD = createNoopMeter().createCounter('');

interface Instruments {
  readonly provider: MeterProvider;
  /** Whether anything reads them. */
  readonly areRead: boolean;
  readonly cost: Counter;
  readonly risk: Histogram;
}

/**
 * Metrics of cost and risk of model calls: the counter `observatory.cost` in US dollars and the histogram
 * `observatory.hallucination_risk`. Attributes are provider, requested model, prompt template and whether the call was
 * a shadow run; each has at most 50 values, all others are `_other`.
 *
 * Only calls with a sampled span are counted; the processor does not see the others.
 */
export class SpendMetrics {
  readonly #given: MeterProvider | undefined;
  readonly #bounded: ReadonlyMap<string, BoundedNames> = new Map([
    [semconv.ATTR_GEN_AI_PROVIDER_NAME, new BoundedNames(MAX_NAMES)],
    [semconv.ATTR_GEN_AI_REQUEST_MODEL, new BoundedNames(MAX_NAMES)],
    [ATTR_TEMPLATE, new BoundedNames(MAX_NAMES)],
  ]);
  #instruments: Instruments | undefined;

  /** @param meterProvider destination of the metrics. @defaultValue the global provider at the end of a call */
  constructor(meterProvider?: MeterProvider) {
    this.#given = meterProvider;
  }

  /**
   * Records an ended call.
   * @param attributes of its span, including the computed fields.
   * @param values the computed fields, for a span without room for them.
   */
  record(attributes: Readonly<Record<string, unknown>>, values: FieldValues): void {
    const cost = readNumber(attributes['observatory.cost_usd']) ?? values.cost_usd;
    const risk =
      readNumber(attributes['observatory.hallucination_risk_score']) ?? values.hallucination_risk_score;
    if (cost === undefined && risk === undefined) return;
    const instruments = this.#current();
    if (!instruments.areRead) return;
    const about = this.#describe(attributes, values);
    if (risk !== undefined) instruments.risk.record(risk, about);
    if (cost === undefined) return;
    // A cost not computed here was set by the application.
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

  /** Instruments of the current provider; an application may register it after creating the processor. */
  #current(): Instruments {
    const provider = this.#given ?? metrics.getMeterProvider();
    if (this.#instruments?.provider === provider) return this.#instruments;
    const meter = provider.getMeter('mcp-observatory', VERSION);
    const cost = meter.createCounter('observatory.cost', {
      unit: 'USD',
      description: 'Estimated spend on model calls',
    });
    const risk = meter.createHistogram('observatory.hallucination_risk', {
      unit: '1',
      description: 'Composite hallucination risk of answers, 0 to 1',
      advice: { explicitBucketBoundaries: [...RISK] },
    });
    this.#instruments = { provider, areRead: cost !== UNREAD, cost, risk };
    return this.#instruments;
  }
}

/** Spans of other dialects lack the standard attribute; the field has the same value. */
function byColumn(name: string, values: FieldValues): unknown {
  if (name === semconv.ATTR_GEN_AI_PROVIDER_NAME) return values.provider;
  return name === semconv.ATTR_GEN_AI_REQUEST_MODEL ? values.model : undefined;
}

function readNumber(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : undefined;
}
