export { compareAnswers } from './comparison.ts';
export { shadow, withShutdown } from './shadow.ts';
export { Shadowing } from './shadowing.ts';
export type {
  ShadowComparison,
  Shadowed,
  ShadowLimits,
  ShadowOptions,
  ShadowOutcome,
  ShadowReading,
  ShadowRunContext,
  ShadowSkip,
  ShadowStats,
} from './types.ts';
export { drainShadows } from './under-way.ts';
