import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { RunOptions } from '../../orchestrator/index.ts';
import { type CommandIo, usageError } from './command.ts';
import { numberFlag } from './flags.ts';

export const RUN_FLAGS = {
  provider: { type: 'string' },
  config: { type: 'string' },
  model: { type: 'string' },
  system: { type: 'string' },
  'max-iterations': { type: 'string' },
  timeout: { type: 'string' },
  'connect-timeout': { type: 'string' },
  'max-tokens': { type: 'string' },
  'max-cost': { type: 'string' },
  plan: { type: 'boolean' },
  'no-backtracking': { type: 'boolean' },
  namespace: { type: 'string' },
  'prompt-template': { type: 'string' },
  'base-url': { type: 'string' },
  api: { type: 'string' },
} as const;

/** Where the servers are read from if `--config` is not given. */
const CONFIG_PATHS = ['server_config.json', 'config/server_config.json'];

export const RUN_FLAGS_HELP = `  --provider NAME        openai, anthropic or gemini
  --config FILE          servers, in the Claude Desktop form (default: server_config.json, else
                         config/server_config.json)
  --model NAME           default: the provider's default model
  --system TEXT          system prompt
  --max-iterations N     maximum model turns with tool calls (default: 10)
  --timeout SECONDS      timeout of a tool without progress (default: 30)
  --connect-timeout SECONDS  time for a server to start and list its tools (default: 60)
  --max-tokens N         stop when the run has used this many tokens
  --max-cost USD         stop when the run has cost this much
  --plan                 make a plan before the first call
  --no-backtracking      do not recover from failed tool calls
  --namespace NAME       name of the run in telemetry (default: mcp_ghost)
  --prompt-template ID   template and version of the prompt, for telemetry and for policies that require one
  --base-url URL         base URL of the provider's API
  --api NAME             chat or responses for openai (default: the one that serves the model)`;

/** The key of a provider in the command's environment, if that is not the one of the process. */
export function findKey(provider: string, { env }: CommandIo): string | undefined {
  const names: Record<string, readonly string[]> = {
    openai: ['OPENAI_API_KEY'],
    anthropic: ['ANTHROPIC_API_KEY'],
    gemini: ['GOOGLE_API_KEY', 'GEMINI_API_KEY'],
  };
  return names[provider]?.map((name) => env[name]).find((value) => value !== undefined && value !== '');
}

/** Values of {@link RUN_FLAGS}. */
export type RunFlagValues = {
  readonly [F in keyof typeof RUN_FLAGS]?: (typeof RUN_FLAGS)[F]['type'] extends 'boolean' ? boolean : string;
};

/** A parsed command line that runs mcpGhost; the command creates the provider. */
export interface RunRequest {
  readonly provider: string;
  readonly options: Omit<RunOptions, 'provider'>;
}

/**
 * Reads flags and the prompt.
 * @throws ObservatoryError `INVALID_OPTION`
 */
export async function readRunRequest(
  values: RunFlagValues,
  positionals: readonly string[],
  io: CommandIo,
): Promise<RunRequest> {
  const [prompt, ...more] = positionals;
  if (prompt === undefined || more.length > 0) {
    throw usageError(`Expected one prompt, got ${positionals.length}; put it in quotes`);
  }
  if (values.provider === undefined) throw usageError('Expected --provider openai, anthropic or gemini');
  const number = (name: 'timeout' | 'connect-timeout' | 'max-iterations' | 'max-tokens' | 'max-cost') =>
    numberFlag(`--${name}`, values[name]);
  const connectSeconds = number('connect-timeout');
  const options: RunRequest['options'] = {
    serverConfig: values.config ?? CONFIG_PATHS.find((path) => existsSync(path)) ?? CONFIG_PATHS[0],
    systemPrompt: values.system ?? '',
    userPrompt: prompt === '-' ? await text(io.stdin) : prompt,
    model: values.model,
    namespace: values.namespace,
    timeout: number('timeout'),
    ...(connectSeconds === undefined ? {} : { connection: { connectTimeoutMs: connectSeconds * 1_000 } }),
    maxIterations: number('max-iterations'),
    maxTokens: number('max-tokens'),
    maxCostUsd: number('max-cost'),
    enableBacktracking: values['no-backtracking'] !== true,
    plan: values.plan,
    govern:
      values['prompt-template'] === undefined ? undefined : { promptTemplateId: values['prompt-template'] },
  };
  return { provider: values.provider, options };
}
