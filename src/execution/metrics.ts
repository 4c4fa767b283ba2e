/** Metrics of governed execution, with bounded attribute values. */
import { type Attributes, type Counter, type MeterProvider, metrics } from '@opentelemetry/api';
import { BoundedNames, semconv, toAttribute, VERSION } from '../base/index.ts';

/** Distinct custom reasons, types and tools; further ones count as `_other`. */
const MAX_NAMES = 200;

export interface CountedFallback {
  readonly type: string;
  readonly reason: string;
  readonly toolName?: string | undefined;
}

interface Instruments {
  readonly provider: MeterProvider;
  readonly fallbacks: Counter;
  readonly types: BoundedNames;
  readonly reasons: BoundedNames;
  readonly tools: BoundedNames;
}

let made: Instruments | undefined;

/** Counts one fallback in `observatory.fallbacks`, by its type, reason and tool. */
export function countFallback({ type, reason, toolName }: CountedFallback): void {
  const { fallbacks, types, reasons, tools } = instruments();
  const attributes: Attributes = {
    [toAttribute('fallback_type')]: types.admit(type),
    [toAttribute('fallback_reason')]: reasons.admit(reason),
  };
  if (toolName !== undefined) attributes[semconv.ATTR_GEN_AI_TOOL_NAME] = tools.admit(toolName);
  fallbacks.add(1, attributes);
}

/** Instruments of the global meter provider, which may be registered after the first call. */
function instruments(): Instruments {
  const provider = metrics.getMeterProvider();
  if (made?.provider === provider) return made;
  const meter = provider.getMeter('mcp-observatory', VERSION);
  const fallbacks = meter.createCounter('observatory.fallbacks', {
    unit: '{fallback}',
    description: 'Answers and calls replaced by a fallback',
  });
  const names = () => new BoundedNames(MAX_NAMES);
  made = { provider, fallbacks, types: names(), reasons: names(), tools: names() };
  return made;
}
