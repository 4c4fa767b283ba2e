import type { ToolPerformance } from './performance.ts';
import type { ConversationEntry, GhostResult, RunError, ToolChainEntry } from './result.ts';

/** The wire form of {@link GhostResult}: `schema/ghost-result.schema.json` describes it. */
export interface WireGhostResult {
  readonly success: boolean;
  readonly final_result: unknown;
  readonly summary: string;
  readonly tool_chain: readonly Readonly<Record<string, unknown>>[];
  readonly conversation_history: readonly Readonly<Record<string, unknown>>[];
  readonly errors: readonly Readonly<Record<string, unknown>>[];
  readonly reasoning_trail: readonly string[];
  readonly plan: string | null;
  readonly execution_metadata: Readonly<Record<string, unknown>>;
}

/** The snake_case form of a result. Names are converted one by one; arguments and results are never walked. */
export function toWire(result: GhostResult): WireGhostResult {
  const metadata = result.executionMetadata;
  return {
    success: result.success,
    final_result: result.finalResult,
    summary: result.summary,
    tool_chain: result.toolChain.map(chainEntryToWire),
    conversation_history: result.conversationHistory.map(conversationEntryToWire),
    errors: result.errors.map(errorToWire),
    reasoning_trail: result.reasoningTrail,
    plan: result.plan,
    execution_metadata: {
      total_execution_time: metadata.totalExecutionTime,
      total_iterations: metadata.totalIterations,
      tools_discovered: metadata.toolsDiscovered,
      servers_connected: metadata.serversConnected,
      backtrack_count: metadata.backtrackCount,
      success_rate: metadata.successRate,
      token_usage: {
        prompt_tokens: metadata.tokenUsage.promptTokens,
        completion_tokens: metadata.tokenUsage.completionTokens,
        total_tokens: metadata.tokenUsage.totalTokens,
        cached_prompt_tokens: metadata.tokenUsage.cachedPromptTokens,
        reasoning_tokens: metadata.tokenUsage.reasoningTokens,
        calls_without_usage: metadata.tokenUsage.callsWithoutUsage,
      },
      cost_usd: metadata.costUsd,
      provider: metadata.provider,
      model: metadata.model,
      stop_reason: metadata.stopReason,
      compactions: metadata.compactions,
      model_retries: metadata.modelRetries,
      tool_performance: metadata.toolPerformance.map(performanceToWire),
      quarantined_tools: metadata.quarantinedTools.map(({ toolName, reason }) => ({
        tool_name: toolName,
        reason,
      })),
    },
  };
}

function chainEntryToWire(entry: ToolChainEntry): Readonly<Record<string, unknown>> {
  return {
    iteration: entry.iteration,
    tool_name: entry.toolName,
    arguments: entry.arguments,
    success: entry.success,
    result: entry.result,
    error: entry.error,
    execution_time: entry.executionTime,
    reasoning: entry.reasoning,
    retry_attempt: entry.retryAttempt,
    cached: entry.cached,
    depends_on: entry.dependsOn,
  };
}

function conversationEntryToWire(entry: ConversationEntry): Readonly<Record<string, unknown>> {
  return {
    role: entry.role,
    content: entry.content,
    tool_calls: entry.toolCalls,
    tool_call_id: entry.toolCallId,
  };
}

function errorToWire(error: RunError): Readonly<Record<string, unknown>> {
  return {
    iteration: error.iteration,
    tool_name: error.toolName,
    error: error.error,
    recovery_action: error.recoveryAction,
  };
}

function performanceToWire(figures: ToolPerformance): Readonly<Record<string, unknown>> {
  return {
    tool_name: figures.toolName,
    calls: figures.calls,
    failures: figures.failures,
    retries: figures.retries,
    cache_hits: figures.cacheHits,
    total_time: figures.totalTime,
    mean_time: figures.meanTime,
    max_time: figures.maxTime,
  };
}
