/** The metrics of governed execution, with attributes that what is governed cannot multiply. */
import { type Attributes, type Counter, type MeterProvider, metrics } from '@opentelemetry/api';
import { ATTR_GEN_AI_TOOL_NAME, attributeOf, BoundedNames, VERSION } from '../base/index.ts';

/** Reasons and types of users' own, and tools, that are kept apart; the next ones are counted as `_other`. */
const MAX_NAMES = 200;

/** One fallback, as it is counted. */
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

/** The instruments of the global meter provider, which the application may register after the first call. */
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
