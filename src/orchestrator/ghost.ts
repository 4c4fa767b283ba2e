import { context, type Span } from '@opentelemetry/api';
import { setGovernance } from '../processor/index.ts';
import { CircuitBreakers } from './breaker.ts';
import { Budget } from './budget.ts';
import { buildCatalogue, type Catalogue } from './catalogue.ts';
import { usageAttributes } from './completion-attributes.ts';
import { Conversation } from './conversation.ts';
import { type EventListener, safeListener } from './events.ts';
import { listableTools } from './gate.ts';
import type { GoldenSession } from './golden-session.ts';
import { LoopDetector } from './loop-detector.ts';
import { ModelCaller } from './model-caller.ts';
import { type GhostOptions, type ResolvedOptions, resolveOptions } from './options.ts';
import { PerformanceLog } from './performance.ts';
import { assertPriced, listPrice } from './price.ts';
import { buildSystemPrompt, type ServerNote } from './prompts.ts';
import { createProvider, type Message, type Provider, ProviderError, userText } from './providers/index.ts';
import type { GhostResult, RunError } from './result.ts';
import { ResultCap } from './result-cap.ts';
import { GhostRun, type RunEnd } from './run.ts';
import { RunLog } from './run-log.ts';
import { connectServers, type ServerPool, type ToolResult } from './servers/index.ts';
import { reasoningTrail, successRate, summarise } from './synthesis.ts';
import { RunTelemetry } from './telemetry.ts';
import { ToolCache } from './tool-cache.ts';
import { ToolRunner } from './tool-runner.ts';

/** A dead server is started again this often by a call to one of its tools. */
const DEFAULT_RECONNECTS = 2;

/** A model is asked with the old tools when a server that announced others does not list them by then. */
const CHANGED_TOOLS_WAIT_MS = 5_000;

/**
 * Lets a model work on a task with the tools of MCP servers, until it is done or a limit is reached, and gives back
 * the answer with everything that led to it. All servers are closed when it returns or throws.
 *
 * @throws ObservatoryError `INVALID_OPTION`, `INVALID_SERVER_CONFIG`, `API_KEY_MISSING` or `MISSING_PEER`, before
 * anything is started; the signal's reason when aborted; with `golden`, what reading or writing it throws, and
 * `GOLDEN_MISMATCH` when a replay leaves it. What else goes wrong later is in the result.
 */
export async function mcpGhost(options: GhostOptions): Promise<GhostResult> {
  const startedAt = performance.now();
  const golden = await goldenSession(options);
  const resolved = resolveOptions(golden?.options ?? options);
  resolved.signal?.throwIfAborted();
  const provider = await providerOf(resolved, golden);
  const model = resolved.model ?? provider.defaultModel;
  assertPriced(resolved, provider.name, model);
  const telemetry = new RunTelemetry(provider, model);
  const emit = safeListener(resolved.onEvent);
  const parent = setGovernance(context.active(), resolved.govern ?? {});
  const result = await telemetry.agent(resolved.namespace, parent, async (span) => {
    emit({ type: 'run_started', provider: provider.name, model });
    let changes = 0;
    await using pool = await connectServers(resolved.serverConfig, {
      maxReconnects: DEFAULT_RECONNECTS,
      ...resolved.connection,
      ...golden?.servers,
      handlers: resolved.handlers,
      signal: resolved.signal,
      onToolsChanged: (server) => {
        changes += 1;
        emit({ type: 'tools_changed', server: server.name, tools: server.tools.length });
      },
    });
    const session = { resolved, provider, model, telemetry, emit, span, pool, startedAt };
    return await runWith(session, () => changes);
  });
  await golden?.finish(result, provider);
  return result;
}

async function goldenSession(options: GhostOptions): Promise<GoldenSession | undefined> {
  if (options.golden === undefined) return undefined;
  // Loaded when needed: most runs neither record nor replay.
  const { openGoldenSession } = await import('./golden-session.ts');
  return await openGoldenSession(options);
}

async function providerOf(options: ResolvedOptions, golden: GoldenSession | undefined): Promise<Provider> {
  if (typeof options.provider !== 'string') return options.provider;
  return await createProvider(options.provider, {
    apiKey: options.apiKey,
    baseUrl: options.baseUrl,
    model: options.model,
    retry: options.retry,
    ...golden?.provider,
  });
}

interface Session {
  readonly resolved: ResolvedOptions;
  readonly provider: Provider;
  readonly model: string;
  readonly telemetry: RunTelemetry;
  readonly emit: EventListener;
  readonly span: Span;
  readonly pool: ServerPool;
  readonly startedAt: number;
}

async function runWith(session: Session, changes: () => number): Promise<GhostResult> {
  const { resolved, provider, model, telemetry, emit, span, pool } = session;
  const failures = reportServers(pool, emit);
  const catalogue = liveCatalogue(session, changes);
  const conversation = new Conversation(headOf(resolved, provider, pool, (await catalogue()).size > 0));
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
    gate: resolved.gate,
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
    catalogue,
    providerName: provider.name,
  });
  const nothingConnected = pool.servers.length > 0 && failures.length === pool.servers.length;
  const plan =
    resolved.plan && !nothingConnected
      ? await makePlan(session, caller, conversation, log.errors, await catalogue())
      : null;
  const end: RunEnd = nothingConnected ? { stopReason: 'no_servers', answer: null } : await run.run();
  const totals = budget.totals;
  span.setAttributes(
    usageAttributes({ inputTokens: totals.promptTokens, outputTokens: totals.completionTokens }),
  );
  span.setAttribute('observatory.stop_reason', end.stopReason);
  const success = end.stopReason === 'completed';
  emit({ type: 'run_finished', success, stopReason: end.stopReason });
  const serversConnected = pool.servers.length - failures.length;
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
      totalExecutionTime: (performance.now() - session.startedAt) / 1000,
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

/** The catalogue, made anew whenever a server has announced other tools; a change that is being read is waited for. */
function liveCatalogue(session: Session, changes: () => number): () => Promise<Catalogue> {
  let made: { readonly catalogue: Catalogue; readonly at: number } | undefined;
  return async () => {
    await session.pool.toolsSettled(CHANGED_TOOLS_WAIT_MS);
    const at = changes();
    if (made?.at === at) return made.catalogue;
    const { pool, resolved, provider, emit } = session;
    const tools = await listableTools(resolved.gate, pool.tools);
    const catalogue = buildCatalogue(tools, provider.toolDialect ?? 'openai', resolved.userPrompt);
    for (const { toolName, reason } of catalogue.quarantined) {
      emit({ type: 'tool_quarantined', toolName, reason });
    }
    made = { catalogue, at };
    return catalogue;
  };
}

function headOf(
  options: ResolvedOptions,
  provider: Provider,
  pool: ServerPool,
  hasTools: boolean,
): Message[] {
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
  catalogue: Catalogue,
): Promise<string | null> {
  try {
    const plan = await caller.plan(catalogue.definitions);
    if (plan === '') return null;
    conversation.replaceTask(userText(`${resolved.userPrompt}\n\nYour plan:\n${plan}`));
    return plan;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    errors.push({ iteration: 0, toolName: provider.name, error: error.message, recoveryAction: null });
    return null;
  }
}
