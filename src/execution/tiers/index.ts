export { type BaseCostLimits, TieredExecutionConfig } from './config.ts';
export {
  type TieredExecution,
  TieredExecutionEngine,
  type TieredExecutionEngineOptions,
  type TieredResult,
} from './engine.ts';
export type { ExecutionTier, TierDecision, TierLimits, TierSignals, TierVerdict } from './types.ts';
