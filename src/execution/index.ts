/**
 * Governed execution of single calls: instrumentation, tiers, fallbacks, budgets and shadow runs; and the report of prompt
 * drift. It may import the rooms up to `policy`.
 */
export { type SelfConsistencyOptions, selfConsistency } from './consistency.ts';
export {
  type DriftQuery,
  type DriftReport,
  type DriftRule,
  type DriftStatus,
  type DriftWatch,
  driftReport,
  observeDrift,
  type PromptDrift,
  type TemplateChange,
  type WatchDriftOptions,
  watchDrift,
} from './drift/index.ts';
export {
  callWithFallback,
  type DraftOnlyRoute,
  type FallbackOutcome,
  type FallbackRequest,
  type FallbackRoute,
  FallbackRouter,
  type FallbackRouterOptions,
  type HumanReviewRoute,
  type RoutedToolCall,
  type RoutedToolResult,
  type TemplateRoute,
} from './fallback/index.ts';
export { govern } from './governance.ts';
export { instrument } from './instrument.ts';
export {
  drainShadows,
  type ShadowComparison,
  type Shadowed,
  type ShadowLimits,
  type ShadowOptions,
  type ShadowOutcome,
  type ShadowReading,
  type ShadowRunContext,
  type ShadowSkip,
  type ShadowStats,
  shadow,
} from './shadow/index.ts';
export { type TemplateGroup, type TemplateQuery, type TemplateReport, templateReport } from './templates.ts';
export {
  type BaseCostLimits,
  type ExecutionTier,
  type TierDecision,
  type TieredExecution,
  TieredExecutionConfig,
  TieredExecutionEngine,
  type TieredExecutionEngineOptions,
  type TieredResult,
  type TierLimits,
  type TierSignals,
  type TierVerdict,
} from './tiers/index.ts';
export type {
  FallbackCall,
  GovernanceOptions,
  InstrumentOptions,
  Interceptor,
  JudgeCall,
  ModelCall,
  ModelCallRecord,
  RecordedModelCall,
  SpanReference,
  ToolCall,
} from './types.ts';
