import { randomUUID } from 'node:crypto';
import { context, type Span } from '@opentelemetry/api';
import { ObservatoryError } from '../base/index.ts';
import { connectServers, type ServerPool } from '../mcp-client/index.ts';
import { type AuditRun, auditRun, openAudit } from '../policy/index.ts';
import { setGovernance } from '../processor/index.ts';
import { safeListener } from './events.ts';
import { type ResolvedOptions, type RunOptions, resolveOptions } from './options.ts';
import { assertPriced } from './price.ts';
import { createProvider, type Provider } from './providers/index.ts';
import type { GhostResult } from './result.ts';
import { runSession } from './run-session.ts';
import type { Tape } from './tape.ts';
import { RunTelemetry } from './telemetry.ts';
import { GatedCalls } from './tool-attempt.ts';

/** How often a call to a tool may restart its dead server. */
const DEFAULT_RECONNECTS = 2;

/**
 * Lets a model work on a task with the tools of MCP servers until it answers or reaches a limit. Returns the answer and
 * everything that led to it. All servers are closed when it returns or throws.
 *
 * @param tape records or plays back what the provider and the servers say.
 * @throws ObservatoryError `INVALID_OPTION`, `INVALID_SERVER_CONFIG`, `API_KEY_MISSING` or `MISSING_PEER`, before
 * anything is started; `AUDIT_UNAVAILABLE` when a gated run cannot be recorded; the signal's reason when aborted; what
 * the tape's `finish` throws. Later failures are reported in the result.
 */
export async function runGhost(options: RunOptions, tape: Tape = {}): Promise<GhostResult> {
  const startedAt = performance.now();
  const resolved = resolveOptions(options);
  resolved.signal?.throwIfAborted();
  const provider = await providerOf(resolved, tape);
  const model = resolved.model ?? provider.defaultModel;
  assertPriced(resolved, provider.name, model);
  const telemetry = new RunTelemetry(provider, model);
  const emit = safeListener(resolved.onEvent);
  const parent = setGovernance(context.active(), resolved.govern ?? {});
  const session = async (span: Span, run: AuditRun | undefined): Promise<GhostResult> => {
    emit({ type: 'run_started', provider: provider.name, model });
    let changes = 0;
    await using pool = await connectServers(resolved.serverConfig, {
      maxReconnects: DEFAULT_RECONNECTS,
      ...resolved.connection,
      openLink: tape.openLink,
      expandVariables: tape.expandVariables,
      handlers: resolved.handlers,
      signal: resolved.signal,
      onToolsChanged: (server) => {
        changes += 1;
        emit({ type: 'tools_changed', server: server.name, tools: server.tools.length });
      },
    });
    const gated = gatedCalls(resolved, pool, run);
    const opened = { options: resolved, provider, model, telemetry, emit, span, pool, gated, startedAt };
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
    return await auditRun(log, started, act, ({ executionMetadata }) => ({
      result: executionMetadata.stopReason,
    }));
  } finally {
    close();
  }
}

function gatedCalls(
  { gate, caller, userPrompt, signal }: ResolvedOptions,
  pool: ServerPool,
  audit: AuditRun | undefined,
): GatedCalls | undefined {
  if (gate === undefined) return undefined;
  // A run that is not recorded has an id all the same: budgets count by it.
  const context = { caller, runId: audit?.id ?? randomUUID(), userRequest: userPrompt };
  return new GatedCalls({ gate, pool, audit, context, signal });
}

async function providerOf(options: ResolvedOptions, { fetch, wait }: Tape): Promise<Provider> {
  if (typeof options.provider !== 'string') {
    if (fetch === undefined) return options.provider;
    throw new ObservatoryError(
      'INVALID_OPTION',
      'Runs are recorded and played back at the wire, so `provider` must be a name, got a provider object',
    );
  }
  return await createProvider(options.provider, {
    apiKey: options.apiKey,
    baseUrl: options.baseUrl,
    api: options.api,
    model: options.model,
    retry: options.retry,
    fetch,
    wait,
  });
}
