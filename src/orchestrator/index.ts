/**
 * Runs a model in a loop with the tools of MCP servers: `mcpGhost`, its providers, tool schemas and limits. It may
 * import the rooms up to `policy`.
 */
export type { BreakerOptions } from './breaker.ts';
export type { BudgetOptions } from './budget.ts';
export type { PlanBranch, PlanCondition, PlannedCall, PlanStep } from './declared-plan.ts';
export type { EventListener, GhostEvent } from './events.ts';
export { runGhost } from './ghost.ts';
export type { LoopOptions } from './loop-detector.ts';
export { type ModelPlannerOptions, modelPlanner } from './model-planner.ts';
export type { RunOptions } from './options.ts';
export { isNotice } from './prompts.ts';
export type {
  ProviderCandidate,
  ProviderChooser,
  ProviderSettings,
  ProviderTask,
} from './provider-choice.ts';
export type {
  Completion,
  CompletionOptions,
  FailedAttempt,
  ModelMessage,
  ModelTool,
  Provider,
  ProviderFactory,
  ProviderOptions,
  RetryPolicy,
} from './providers/index.ts';
export { createProvider, ProviderError, registerProvider } from './providers/index.ts';
export type { GhostResult, StopReason, ToolChainEntry } from './result.ts';
export type { ToolCacheOptions } from './tool-cache.ts';
export { type AdaptedTool, AdaptedTools, adaptTools } from './tools/index.ts';
export type { OfferedUndo, UndoCall, UndoOptions } from './undo.ts';
export { toWire, type WireGhostResult } from './wire.ts';
