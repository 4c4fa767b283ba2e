export type {
  CallableTool,
  ConnectionOptions,
  ConnectServersOptions,
  ElicitationAnswer,
  ServerConnection,
  ServerRequestContext,
  ServerRequestHandlers,
  ServerTool,
  ToolAnnotations,
  ToolCallOptions,
  ToolCallOutcome,
  ToolContent,
  ToolProgress,
  ToolResult,
} from '../mcp-client/index.ts';
export { connectServers, loadServerConfig, parseServerConfig, ServerPool } from '../mcp-client/index.ts';
export type { BreakerChange, BreakerOptions, BreakerState } from './breaker.ts';
export type { BudgetOptions, PriceOf, TokenTotals } from './budget.ts';
export type { EventListener, GhostEvent } from './events.ts';
export { runGhost } from './ghost.ts';
export type { LoopOptions } from './loop-detector.ts';
export { type ModelPlannerOptions, modelPlanner } from './model-planner.ts';
export type { RunOptions } from './options.ts';
export type { ToolPerformance } from './performance.ts';
export type {
  Completion,
  CompletionOptions,
  FailedAttempt,
  FinishReason,
  ImagePart,
  ModelMessage,
  ModelTool,
  Provider,
  ProviderFactory,
  ProviderFailure,
  ProviderOptions,
  RetryPolicy,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from './providers/index.ts';
export { createProvider, ProviderError, providerNames, registerProvider } from './providers/index.ts';
export type {
  ConversationEntry,
  ConversationToolCall,
  ExecutionMetadata,
  GhostResult,
  QuarantinedTool,
  RecoveryAction,
  RunError,
  StopReason,
  ToolChainEntry,
} from './result.ts';
export type { Tape } from './tape.ts';
export type { ToolCacheOptions } from './tool-cache.ts';
export { type AdaptedTool, AdaptedTools, adaptTools, type ToolProvider } from './tools/index.ts';
export { toWire, type WireGhostResult } from './wire.ts';
