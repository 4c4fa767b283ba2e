import { randomUUID } from 'node:crypto';
import { context, type Span } from '@opentelemetry/api';
import { toAttribute } from '../base/index.ts';
import { connectServers, ServerPool } from '../mcp-client/index.ts';
import { type AuditRun, auditRun, openAudit, serverRequestGuard } from '../policy/index.ts';
import { getGovernance, setGovernance } from '../processor/index.ts';
import { safeListener } from './events.ts';
import { GatedCalls, type GatedCallsParts } from './gated-calls.ts';
import { type ResolvedOptions, type RunOptions, resolveOptions } from './options.ts';
import { openProviders } from './provider-chain.ts';
import type { GhostResult } from './result.ts';
import { runSession } from './run-session.ts';
import type { Tape } from './tape.ts';

/** How often a call to a tool may restart its dead server. */
const DEFAULT_RECONNECTS = 2;

/**
 * Lets a model work on a task with the tools of MCP servers until it answers or reaches a limit. Returns the answer and
 * everything that led to it. All servers are closed when it returns or throws.
 *
 * @param tape records or plays back what the provider and the servers say.
 * @throws ObservatoryError `INVALID_OPTION`, `INVALID_SERVER_CONFIG`, `API_KEY_MISSING` or `MISSING_PEER`, before
 * anything is started; `AUDIT_UNAVAILABLE` when a gated run cannot be recorded before its first call; the signal's
 * reason when it has fired before the start; what the tape's `finish` throws. Later failures, an abort among them, are
 * reported in the result.
 */
export async function runGhost(options: RunOptions, tape: Tape = {}): Promise<GhostResult> {
  const startedAt = performance.now();
  const resolved = resolveOptions(options);
  resolved.signal?.throwIfAborted();
  const providers = await openProviders(resolved, tape);
  const { provider, model, telemetry } = providers.current;
  const emit = safeListener(resolved.onEvent);
  const parent = setGovernance(context.active(), resolved.govern ?? {});
  // A run that is not recorded has an id all the same: budgets count by it.
  const session = async (
    span: Span,
    run: AuditRun | undefined,
    runId = run?.id ?? randomUUID(),
  ): Promise<GhostResult> => {
    const active = context.active();
    const ofRun = { runId: getGovernance(active)?.runId ?? runId };
    span.setAttribute(toAttribute('run_id'), ofRun.runId);
    return await context.with(setGovernance(active, ofRun), () => inRun(span, run, runId));
  };
  const inRun = async (span: Span, run: AuditRun | undefined, runId: string): Promise<GhostResult> => {
    emit({ type: 'run_started', provider: provider.name, model });
    let changes = 0;
    const { gate, caller, govern, userPrompt: userRequest } = resolved;
    const sessionId = getGovernance(context.active())?.sessionId ?? runId;
    const shared = { caller, runId, sessionId, userRequest, promptTemplateId: govern?.promptTemplateId };
    gate?.remember(runId, { prompt: userRequest, operator: resolved.systemPrompt });
    const connecting = connectServers(resolved.serverConfig, {
      maxReconnects: DEFAULT_RECONNECTS,
      ...resolved.connection,
      openLink: tape.openLink,
      expandVariables: tape.expandVariables,
      handlers: resolved.handlers,
      guard: gate && serverRequestGuard({ gate, audit: run, context: () => shared }),
      signal: resolved.signal,
      onToolsChanged: (server) => {
        changes += 1;
        emit({ type: 'tools_changed', server: server.name, tools: server.tools.length });
      },
    });
    await using pool = await connecting.catch((error: unknown) => {
      // A run that is aborted by now ends like any other, with a result.
      if (resolved.signal?.aborted !== true) throw error;
      return new ServerPool([]);
    });
    const gated = gatedCalls(resolved, pool, run, shared);
    const opened = { options: resolved, providers, emit, span, pool, gated, startedAt };
    return await runSession(opened, () => changes);
  };
  const result = await telemetry.agent(resolved.namespace, parent, (span) =>
    audited(resolved, (run) => session(span, run)),
  );
  await tape.finish?.(result);
  return result;
}

/** Runs `act` as a run of the audit trail, if it is gated. */
async function audited(
  { gate, audit, caller, userPrompt }: ResolvedOptions,
  act: (run: AuditRun | undefined) => Promise<GhostResult>,
): Promise<GhostResult> {
  const { log, close } = openAudit(gate === undefined ? false : audit);
  try {
    const started = { query_chars: userPrompt.length, caller };
    return await auditRun(
      log,
      started,
      act,
      ({ executionMetadata }) => ({ result: executionMetadata.stopReason }),
      (result, { message }) => ({
        ...result,
        executionMetadata: { ...result.executionMetadata, auditProblem: message },
      }),
    );
  } finally {
    close();
  }
}

function gatedCalls(
  { gate, signal }: ResolvedOptions,
  pool: ServerPool,
  audit: AuditRun | undefined,
  context: GatedCallsParts['context'],
): GatedCalls | undefined {
  return gate && new GatedCalls({ gate, pool, audit, context, signal });
}
