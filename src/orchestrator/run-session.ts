import { usageAttributes } from '../interaction/index.ts';
import type { ServerPool, ToolResult } from '../mcp-client/index.ts';
import { CircuitBreakers } from './breaker.ts';
import { Budget } from './budget.ts';
import { Conversation } from './conversation.ts';
import type { EventListener } from './events.ts';
import { LoopDetector } from './loop-detector.ts';
import { ModelCaller } from './model-caller.ts';
import { liveTools, type OfferedTools } from './offered-tools.ts';
import type { ResolvedOptions } from './options.ts';
import { PerformanceLog } from './performance.ts';
import { listPrice } from './price.ts';
import { buildSystemPrompt, type ServerNote } from './prompts.ts';
import { type ModelMessage, type Provider, ProviderError, userText } from './providers/index.ts';
import type { GhostResult, RunError } from './result.ts';
import { ResultCap } from './result-cap.ts';
import { GhostRun, type RunEnd } from './run.ts';
import { RunLog } from './run-log.ts';
import type { Session } from './session.ts';
import { reasoningTrail, successRate, summarize } from './synthesis.ts';
import { ToolCache } from './tool-cache.ts';
import { ToolRunner } from './tool-runner.ts';

/** Runs the task. @param changes how often servers have announced a changed tool list. */
export async function runSession(session: Session, changes: () => number): Promise<GhostResult> {
  const { resolved, provider, model, telemetry, emit, span, pool } = session;
  const failures = reportServers(pool, emit);
  const catalog = liveTools(session, changes);
  const conversation = new Conversation(headOf(resolved, provider, pool, (await catalog()).size > 0));
  const budget = new Budget(resolved, resolved.priceOf ?? listPrice);
  const caller = new ModelCaller({
    provider,
    model,
    options: resolved,
    telemetry,
    budget,
    conversation,
    emit,
  });
  const breakers = new CircuitBreakers(resolved.breaker, (change) => {
    emit({ type: 'breaker', ...change });
    span.addEvent('breaker', {
      'observatory.server': change.server,
      'gen_ai.tool.name': change.tool,
      'observatory.breaker_state': change.state,
    });
  });
  const cap = new ResultCap(resolved.maxResultChars);
  const performanceLog = new PerformanceLog();
  const runner = new ToolRunner({
    pool,
    breakers,
    cache: cacheOf(resolved),
    cap,
    gated: session.gated,
    telemetry,
    performance: performanceLog,
    emit,
    timeoutMs: resolved.timeout * 1000,
    retries: resolved.enableBacktracking ? resolved.toolRetries : 0,
    signal: resolved.signal,
  });
  const log = new RunLog();
  log.errors.push(...failures);
  const run = new GhostRun({
    options: resolved,
    conversation,
    caller,
    runner,
    budget,
    breakers,
    loops: new LoopDetector(resolved.loop),
    cap,
    telemetry,
    emit,
    log,
    span,
    catalog,
    providerName: provider.name,
  });
  const nothingConnected = pool.servers.length > 0 && failures.length === pool.servers.length;
  const plan =
    resolved.plan && !nothingConnected
      ? await makePlan(session, caller, conversation, log.errors, await catalog())
      : null;
  const end: RunEnd = nothingConnected ? { stopReason: 'no_servers', answer: null } : await run.run();
  return await resultOf(session, {
    end,
    plan,
    serversConnected: pool.servers.length - failures.length,
    log,
    conversation,
    budget,
    caller,
    performanceLog,
    catalog,
  });
}

/** A finished run, to make its result of. */
interface FinishedRun {
  readonly end: RunEnd;
  readonly plan: string | null;
  readonly serversConnected: number;
  readonly log: RunLog;
  readonly conversation: Conversation;
  readonly budget: Budget;
  readonly caller: ModelCaller;
  readonly performanceLog: PerformanceLog;
  readonly catalog: () => Promise<OfferedTools>;
}

/** Reports the end of a run on its span and as an event, and makes its result. */
async function resultOf(
  { span, emit, pool, provider, model, startedAt }: Session,
  { end, plan, serversConnected, log, conversation, budget, caller, performanceLog, catalog }: FinishedRun,
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
    summary: summarize({
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
      quarantinedTools: (await catalog()).quarantined,
    },
  };
}

function reportServers(pool: ServerPool, emit: EventListener): RunError[] {
  const failures: RunError[] = [];
  for (const server of pool.servers) {
    if (server.state === 'ready') {
      emit({ type: 'server_connected', server: server.name, tools: server.tools.length });
      continue;
    }
    const error = server.error?.message ?? `Server "${server.name}" is ${server.state}.`;
    emit({ type: 'server_failed', server: server.name, error });
    failures.push({ iteration: 0, toolName: server.name, error, recoveryAction: null });
  }
  return failures;
}

function headOf(
  options: ResolvedOptions,
  provider: Provider,
  pool: ServerPool,
  hasTools: boolean,
): ModelMessage[] {
  const notes = pool.servers.flatMap((server): ServerNote[] =>
    server.state === 'ready' && server.instructions !== undefined
      ? [{ server: server.name, instructions: server.instructions }]
      : [],
  );
  const system = buildSystemPrompt(options.systemPrompt, provider.name, hasTools, notes);
  const task = userText(options.userPrompt);
  return system === '' ? [task] : [{ role: 'system', text: system }, task];
}

function cacheOf(options: ResolvedOptions): ToolCache<ToolResult> | undefined {
  if (options.toolCache === undefined || options.toolCache === false) return undefined;
  return new ToolCache(options.toolCache === true ? {} : options.toolCache);
}

/** A plan that cannot be made costs the plan, not the run. */
async function makePlan(
  { resolved, provider }: Session,
  caller: ModelCaller,
  conversation: Conversation,
  errors: RunError[],
  catalog: OfferedTools,
): Promise<string | null> {
  try {
    const plan = await caller.plan(catalog.definitions);
    if (plan === '') return null;
    conversation.replaceTask(userText(`${resolved.userPrompt}\n\nYour plan:\n${plan}`));
    return plan;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    errors.push({ iteration: 0, toolName: provider.name, error: error.message, recoveryAction: null });
    return null;
  }
}
