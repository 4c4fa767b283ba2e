/** Metrics of governed execution, with bounded attribute values. */
import { type Attributes, type Counter, type MeterProvider, metrics } from '@opentelemetry/api';
import { ATTR_GEN_AI_TOOL_NAME, attributeOf, BoundedNames, VERSION } from '../base/index.ts';

/** Distinct custom reasons, types and tools; further ones count as `_other`. */
const MAX_NAMES = 200;

/** Attributes of a counted fallback. */
export interface CountedFallback {
  readonly type: string;
  readonly reason: string;
  readonly toolName?: string | undefined;
}

interface Instruments {
  readonly provider: MeterProvider;
  readonly fallbacks: Counter;
}

const types = new BoundedNames(MAX_NAMES);
const reasons = new BoundedNames(MAX_NAMES);
const tools = new BoundedNames(MAX_NAMES);

let made: Instruments | undefined;

/** Counts one fallback in `observatory.fallbacks`, by its type, reason and tool. */
export function countFallback({ type, reason, toolName }: CountedFallback): void {
  const attributes: Attributes = {
    [attributeOf('fallback_type')]: types.admit(type),
    [attributeOf('fallback_reason')]: reasons.admit(reason),
  };
  if (toolName !== undefined) attributes[ATTR_GEN_AI_TOOL_NAME] = tools.admit(toolName);
  instruments().fallbacks.add(1, attributes);
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
  made = { provider, fallbacks };
  return made;
}
