/** Runs of mcpGhost against a model that is a golden or a script, in the same words for all providers. */

import { fileURLToPath } from 'node:url';
import { type GhostOptions, mcpGhost } from '../../src/golden/index.ts';
import type { GhostEvent, GhostResult } from '../../src/orchestrator/index.ts';
import { GoldenModel } from './golden-model.ts';
import { type ModelServer, type Script, ScriptedProvider } from './scripted-provider.ts';
import { serverFile } from './server-file.ts';

export const PROVIDERS: readonly { readonly provider: string; readonly model: string }[] = [
  { provider: 'openai', model: 'gpt-5.4-mini' },
  { provider: 'anthropic', model: 'claude-sonnet-5-5' },
  { provider: 'gemini', model: 'gemini-3-flash-preview' },
];

export const SCENARIO_SERVER: string = serverFile('scenario');

/** The config entry of the server that fails on demand. */
export function scenarioServer(...args: string[]) {
  return { command: process.execPath, args: [SCENARIO_SERVER, ...args] };
}

/** The config entry of a server from npm that nobody here wrote. */
export function npmServer(name: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  const entry = fileURLToPath(
    new URL(`../../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url),
  );
  return { command: process.execPath, args: [entry, ...args], env };
}

export interface GhostTrial {
  readonly result: GhostResult;
  readonly events: readonly GhostEvent[];
  readonly model: ModelServer;
}

type TrialOptions = Partial<GhostOptions> & Pick<GhostOptions, 'serverConfig'>;

/** Runs one task with a scripted model. */
export async function tryGhost(provider: string, script: Script, options: TrialOptions): Promise<GhostTrial> {
  return await runWith(await ScriptedProvider.start(script), provider, options);
}

/**
 * Runs one task with the model of a golden, `test/goldens/<name>.<provider>.json`.
 * @param script what the golden is made of, see `GoldenModel`.
 */
export async function replayGhost(
  name: string,
  provider: string,
  script: Script,
  options: TrialOptions,
): Promise<GhostTrial> {
  return await runWith(await GoldenModel.open(`${name}.${provider}`, script), provider, options);
}

/** The model is closed afterwards, its record stays readable. */
async function runWith(model: ModelServer, provider: string, options: TrialOptions): Promise<GhostTrial> {
  const events: GhostEvent[] = [];
  try {
    const result = await mcpGhost({
      systemPrompt: 'You are a test.',
      userPrompt: 'Do the task.',
      provider,
      model: PROVIDERS.find((one) => one.provider === provider)?.model,
      apiKey: 'test-key',
      baseUrl: model.baseUrl(provider),
      retry: { initialDelayMs: 1, maxDelayMs: 2, maxAttempts: 2 },
      onEvent: (event) => events.push(event),
      ...options,
    });
    return { result, events, model };
  } finally {
    await model.close();
  }
}

/** The chain in short, for comparing runs. */
export function chainOf(result: GhostResult): string[] {
  return result.toolChain.map(
    (entry) =>
      `${entry.iteration} ${entry.toolName} ${JSON.stringify(entry.arguments)} ${entry.success ? 'ok' : 'failed'}`,
  );
}
