import { SpanStatusCode } from '@opentelemetry/api';
import { semconv } from '../base/index.ts';
import { usageAttributes } from '../interaction/index.ts';
import type { ServerPool } from '../mcp-client/index.ts';
import { CircuitBreakers } from './breaker.ts';
import { Budget } from './budget.ts';
import { Conversation } from './conversation.ts';
import type { EventListener } from './events.ts';
import { LinkedResources } from './linked-resources.ts';
import { ModelCaller } from './model-caller.ts';
import { liveTools } from './offered-tools.ts';
import type { OpenedRun } from './opened-run.ts';
import { listPrice } from './price.ts';
import { buildSystemPrompt, type ServerNote } from './prompts.ts';
import { type ModelMessage, ProviderError, userText } from './providers/index.ts';
import type { GhostResult } from './result.ts';
import { ResultCap } from './result-cap.ts';
import { GhostRun, type RunEnd } from './run.ts';
import { RunLog } from './run-log.ts';
import type { Session } from './session.ts';
import { ENDINGS, reasoningTrail, successRate, summarize, toolPerformance } from './synthesis.ts';
import { ToolRunner } from './tool-runner.ts';
import { type OfferedUndo, undoable } from './undo.ts';

/** Runs the task. @param changes how often servers have announced a changed tool list. */
export async function runSession(opened: OpenedRun, changes: () => number): Promise<GhostResult> {
  const { options, emit, span, pool } = opened;
  const log = new RunLog();
  reportServers(pool, emit, log);
  const policyProblem = options.gate?.problem;
  if (policyProblem !== undefined) log.note(options.namespace, policyProblem.message, null);
  for (const problem of opened.providers.leftOut) log.note(options.namespace, problem, null);
  const catalog = liveTools(opened, changes);
  const session: Session = {
    ...opened,
    get provider() {
      return opened.providers.current.provider;
    },
    get model() {
      return opened.providers.current.model;
    },
    get telemetry() {
      return opened.providers.current.telemetry;
    },
    log,
    catalog,
    conversation: new Conversation(buildHead(opened, (await catalog()).size > 0)),
    budget: new Budget(options, options.priceOf ?? listPrice),
    breakers: new CircuitBreakers(options.breaker, (change) => {
      emit({ type: 'breaker', ...change });
      span.addEvent('breaker', {
        'observatory.server': change.server,
        [semconv.ATTR_GEN_AI_TOOL_NAME]: change.tool,
        'observatory.breaker_state': change.state,
      });
    }),
    cap: new ResultCap(options.maxResultChars),
    resources: new LinkedResources(),
  };
  const caller = new ModelCaller(session);
  if (pool.servers.length > 0 && log.serversConnected === 0) {
    return await toResult(session, caller, { stopReason: 'no_servers', answer: null }, null);
  }
  const plan = options.plan === true ? await makePlan(session, caller) : null;
  const runner = new ToolRunner(session);
  const end = await new GhostRun(session, caller, runner).run();
  return await toResult(session, caller, end, plan, await undoIfAsked(session, runner, end));
}

/** Reports the end of a run on its span and as an event, and makes its result. */
async function toResult(
  session: Session,
  caller: ModelCaller,
  { stopReason, answer }: RunEnd,
  plan: string | null,
  undo: readonly OfferedUndo[] = [],
): Promise<GhostResult> {
  const { span, emit, pool, provider, model, log, budget, conversation } = session;
  const { chain, errors, iterations } = log;
  const totals = budget.totals;
  span.setAttributes(
    usageAttributes({ inputTokens: totals.promptTokens, outputTokens: totals.completionTokens }),
  );
  span.setAttribute('observatory.stop_reason', stopReason);
  const success = stopReason === 'completed';
  if (!success) {
    span.setAttribute(semconv.ATTR_ERROR_TYPE, stopReason);
    span.setStatus({ code: SpanStatusCode.ERROR, message: ENDINGS[stopReason] });
  }
  emit({ type: 'run_finished', success, stopReason });
  return {
    success,
    finalResult: answer,
    summary: summarize(log, stopReason, pool.servers.length),
    toolChain: chain,
    conversationHistory: conversation.toEntries(),
    errors,
    reasoningTrail: reasoningTrail(log, { stopReason, answer }),
    plan,
    undo,
    executionMetadata: {
      totalExecutionTime: (performance.now() - session.startedAt) / 1000,
      totalIterations: iterations,
      toolsDiscovered: pool.tools.length,
      serversConnected: log.serversConnected,
      backtrackCount: log.backtracks,
      successRate: successRate(chain),
      tokenUsage: totals,
      costUsd: budget.costUsd ?? null,
      provider: provider.name,
      model,
      stopReason,
      compactions: caller.compactions,
      modelRetries: caller.retries,
      toolPerformance: toolPerformance(chain),
      quarantinedTools: (await session.catalog()).quarantined,
    },
  };
}

/** What can be undone; when the run did not succeed and the options say so, it is undone, through the gate. */
async function undoIfAsked(
  session: Session,
  runner: ToolRunner,
  { stopReason }: RunEnd,
): Promise<OfferedUndo[]> {
  const { options, log } = session;
  const catalog = await session.catalog();
  const offered = undoable(log.chain, (name) => catalog.named(name), options.undo);
  const isDue = stopReason !== 'completed' && stopReason !== 'aborted' && options.undo?.automatic === true;
  if (!isDue) return offered;
  const undone: OfferedUndo[] = [];
  for (const undo of offered) {
    const report = await runner.runNamed(
      undo.toolName,
      undo.arguments,
      catalog,
      `undoes step ${undo.step + 1}`,
    );
    await log.add(report);
    undone.push({ ...undo, done: report.failure === undefined });
  }
  return undone;
}

function reportServers(pool: ServerPool, emit: EventListener, log: RunLog): void {
  for (const server of pool.servers) {
    if (server.state === 'ready') {
      log.serversConnected += 1;
      emit({ type: 'server_connected', server: server.name, tools: server.tools.length });
      continue;
    }
    const error = server.error?.message ?? `Server "${server.name}" is ${server.state}.`;
    emit({ type: 'server_failed', server: server.name, error });
    log.note(server.name, error, null);
  }
}

function buildHead({ options, providers, pool, gated }: OpenedRun, hasTools: boolean): ModelMessage[] {
  const notes = pool.servers.flatMap((server): ServerNote[] =>
    server.state === 'ready' &&
    server.instructions !== undefined &&
    (gated === undefined || gated.mayInstruct(server.name))
      ? [{ server: server.name, instructions: server.instructions }]
      : [],
  );
  const system = buildSystemPrompt(options.systemPrompt, providers.current.provider.name, hasTools, notes);
  const task = userText(options.userPrompt);
  return system === '' ? [task] : [{ role: 'system', text: system }, task];
}

/** A plan that cannot be made costs the plan, not the run. */
async function makePlan(
  { options, provider, conversation, catalog, log }: Session,
  caller: ModelCaller,
): Promise<string | null> {
  try {
    const plan = await caller.plan((await catalog()).definitions);
    if (plan === '') return null;
    conversation.replaceTask(userText(`${options.userPrompt}\n\nYour plan:\n${plan}`));
    return plan;
  } catch (error) {
    if (options.signal?.aborted === true) return null;
    if (!(error instanceof ProviderError)) throw error;
    log.fail(provider.name, error.message);
    return null;
  }
}
