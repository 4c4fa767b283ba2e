import { context } from '@opentelemetry/api';
import { ObservatoryError } from '../base/index.ts';
import { connectServers } from '../mcp-client/index.ts';
import { setGovernance } from '../processor/index.ts';
import { safeListener } from './events.ts';
import { type ResolvedOptions, type RunOptions, resolveOptions } from './options.ts';
import { assertPriced } from './price.ts';
import { createProvider, type Provider } from './providers/index.ts';
import type { GhostResult } from './result.ts';
import { runSession } from './run-session.ts';
import type { Tape } from './tape.ts';
import { RunTelemetry } from './telemetry.ts';

/** How often a call to a tool may restart its dead server. */
const DEFAULT_RECONNECTS = 2;

/**
 * Lets a model work on a task with the tools of MCP servers until it answers or reaches a limit. Returns the answer and
 * everything that led to it. All servers are closed when it returns or throws.
 *
 * @param tape records or plays back what the provider and the servers say.
 * @throws ObservatoryError `INVALID_OPTION`, `INVALID_SERVER_CONFIG`, `API_KEY_MISSING` or `MISSING_PEER`, before
 * anything is started; the signal's reason when aborted; what the tape's `finish` throws. Later failures are reported
 * in the result.
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
  const result = await telemetry.agent(resolved.namespace, parent, async (span) => {
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
    const session = { resolved, provider, model, telemetry, emit, span, pool, startedAt };
    return await runSession(session, () => changes);
  });
  await tape.finish?.(result);
  return result;
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
    model: options.model,
    retry: options.retry,
    fetch,
    wait,
  });
}
