import { text } from 'node:stream/consumers';
import { ObservatoryError } from '../../base/index.ts';
import type { RunOptions } from '../../orchestrator/index.ts';
import type { CommandIo } from './command.ts';

/** Flags of the commands that run mcpGhost. */
export const RUN_FLAGS = {
  provider: { type: 'string' },
  config: { type: 'string' },
  model: { type: 'string' },
  system: { type: 'string' },
  'max-iterations': { type: 'string' },
  timeout: { type: 'string' },
  'max-tokens': { type: 'string' },
  'max-cost': { type: 'string' },
  plan: { type: 'boolean' },
  'no-backtracking': { type: 'boolean' },
  namespace: { type: 'string' },
  'base-url': { type: 'string' },
  api: { type: 'string' },
} as const;

export const RUN_FLAGS_HELP = `  --provider NAME        openai, anthropic or gemini
  --config FILE          servers, in the Claude Desktop form (default: server_config.json)
  --model NAME           default: the provider's default model
  --system TEXT          system prompt
  --max-iterations N     maximum model turns with tool calls (default: 10)
  --timeout SECONDS      timeout of a tool without progress (default: 30)
  --max-tokens N         stop when the run has used this many tokens
  --max-cost USD         stop when the run has cost this much
  --plan                 make a plan before the first call
  --no-backtracking      do not recover from failed tool calls
  --namespace NAME       name of the run in telemetry (default: mcp_ghost)
  --base-url URL         base URL of the provider's API
  --api NAME             chat or responses for openai (default: the one that serves the model)`;

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
  command: string,
): Promise<RunRequest> {
  const [prompt, ...more] = positionals;
  if (prompt === undefined || more.length > 0) {
    throw usageError(command, `Expected one prompt, got ${positionals.length}; put it in quotes`);
  }
  if (values.provider === undefined) {
    throw usageError(command, 'Expected --provider openai, anthropic or gemini');
  }
  const number = (name: 'timeout' | 'max-iterations' | 'max-tokens' | 'max-cost') =>
    numberFlag(command, name, values[name]);
  const options: RunRequest['options'] = {
    serverConfig: values.config ?? 'server_config.json',
    systemPrompt: values.system ?? '',
    userPrompt: prompt === '-' ? await text(io.stdin) : prompt,
    model: values.model,
    namespace: values.namespace,
    timeout: number('timeout'),
    maxIterations: number('max-iterations'),
    maxTokens: number('max-tokens'),
    maxCostUsd: number('max-cost'),
    enableBacktracking: values['no-backtracking'] !== true,
    plan: values.plan,
  };
  return { provider: values.provider, options };
}

/** The error for invalid usage. */
export function usageError(command: string, message: string): ObservatoryError {
  return new ObservatoryError('INVALID_OPTION', `${message}. See: mcp-observatory ${command} --help`);
}

/** @throws ObservatoryError `INVALID_OPTION` for an invalid number. */
export function numberFlag(command: string, name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number)) {
    throw usageError(command, `Expected --${name} to be a number, got ${JSON.stringify(value)}`);
  }
  return number;
}
