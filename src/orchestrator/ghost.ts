import { context } from '@opentelemetry/api';
import { connectServers } from '../mcp-client/index.ts';
import { setGovernance } from '../processor/index.ts';
import { safeListener } from './events.ts';
import type { GoldenSession } from './golden-session.ts';
import { type GhostOptions, type ResolvedOptions, resolveOptions } from './options.ts';
import { assertPriced } from './price.ts';
import { createProvider, type Provider } from './providers/index.ts';
import type { GhostResult } from './result.ts';
import { runSession } from './run-session.ts';
import { RunTelemetry } from './telemetry.ts';

/** A dead server is started again this often by a call to one of its tools. */
const DEFAULT_RECONNECTS = 2;

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
    return await runSession(session, () => changes);
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
