import { usageAttributes } from '../interaction/index.ts';
import type { Budget } from './budget.ts';
import type { Catalogue } from './catalogue.ts';
import type { Conversation } from './conversation.ts';
import type { ModelCaller } from './model-caller.ts';
import type { PerformanceLog } from './performance.ts';
import type { GhostResult } from './result.ts';
import type { RunEnd } from './run.ts';
import type { RunLog } from './run-log.ts';
import type { Session } from './session.ts';
import { reasoningTrail, successRate, summarise } from './synthesis.ts';

/** What a run leaves behind. */
interface FinishedRun {
  readonly end: RunEnd;
  readonly plan: string | null;
  readonly serversConnected: number;
  readonly log: RunLog;
  readonly conversation: Conversation;
  readonly budget: Budget;
  readonly caller: ModelCaller;
  readonly performanceLog: PerformanceLog;
  readonly catalogue: () => Promise<Catalogue>;
}

/** Tells the end of a run, on its span and as an event, and makes its result. */
export async function resultOf(
  { span, emit, pool, provider, model, startedAt }: Session,
  { end, plan, serversConnected, log, conversation, budget, caller, performanceLog, catalogue }: FinishedRun,
): Promise<GhostResult> {
  const totals = budget.totals;
  span.setAttributes(
    usageAttributes({ inputTokens: totals.promptTokens, outputTokens: totals.completionTokens }),
  );
  span.setAttribute('observatory.stop_reason', end.stopReason);
  const success = end.stopReason === 'completed';
  emit({ type: 'run_finished', success, stopReason: end.stopReason });
  return {
    success,
    finalResult: end.answer,
    summary: summarise({
      stopReason: end.stopReason,
      chain: log.chain,
      errors: log.errors,
      iterations: log.iterations,
      serversConnected,
      serversConfigured: pool.servers.length,
    }),
    toolChain: log.chain,
    conversationHistory: conversation.toEntries(),
    errors: log.errors,
    reasoningTrail: reasoningTrail(log.chain, end.stopReason),
    plan,
    executionMetadata: {
      totalExecutionTime: (performance.now() - startedAt) / 1000,
      totalIterations: log.iterations,
      toolsDiscovered: pool.tools.length,
      serversConnected,
      backtrackCount: log.backtracks,
      successRate: successRate(log.chain),
      tokenUsage: totals,
      costUsd: budget.costUsd ?? null,
      provider: provider.name,
      model,
      stopReason: end.stopReason,
      compactions: caller.compactions,
      modelRetries: caller.retries,
      toolPerformance: performanceLog.toList(),
      quarantinedTools: (await catalogue()).quarantined,
    },
  };
}
