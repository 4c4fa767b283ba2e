import {
  checkOptions,
  either,
  invalidOption,
  kinds,
  type ObservatoryError,
  type OptionKinds,
  required,
  secret,
  wholeNumber,
} from '../base/index.ts';
import type { ConnectionOptions, ServerRequestHandlers } from '../mcp-client/index.ts';
import { A_GATE, AN_AUDIT, type AuditOption, type PolicyGate } from '../policy/index.ts';
import type { GovernanceFields } from '../processor/index.ts';
import type { BreakerOptions } from './breaker.ts';
import type { PriceOf } from './budget.ts';
import { checkPlan, type PlanStep } from './declared-plan.ts';
import type { EventListener } from './events.ts';
import type { LoopOptions } from './loop-detector.ts';
import { isProvider, type ProviderCandidate, type ProviderChooser } from './provider-choice.ts';
import type { Provider, RetryPolicy } from './providers/index.ts';
import type { ToolCacheOptions } from './tool-cache.ts';
import { checkUndo, type UndoOptions } from './undo.ts';

export interface RunOptions {
  /** Servers in the form of `server_config.json` (`{ mcpServers: { ... } }`), or the path of such a file. */
  readonly serverConfig: unknown;
  /** What the model is to know about its task and its tools. */
  readonly systemPrompt: string;
  /**
   * `openai`, `anthropic`, `gemini`, a name given to `registerProvider`, or a provider; a list of these, the next of
   * which is asked when one fails for good; or a function that chooses by the task. In a list each may have its own
   * `model`, `apiKey`, `baseUrl` and `api`.
   */
  readonly provider: string | Provider | readonly ProviderCandidate[] | ProviderChooser;
  /** @defaultValue `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `GOOGLE_API_KEY`, then the same in a `.env` file */
  readonly apiKey?: string | undefined;
  readonly userPrompt: string;
  /** @defaultValue the provider's default model */
  readonly model?: string | undefined;
  /** Names the run in telemetry (`gen_ai.agent.name`) and in its errors; no part of tool names. @defaultValue 'mcp_ghost' */
  readonly namespace?: string | undefined;
  /** Longest silence of a tool, in seconds; its progress starts it anew. @defaultValue 30 */
  readonly timeout?: number | undefined;
  /** Most model turns that may call tools; one more may follow to answer from what is known. @defaultValue 10 */
  readonly maxIterations?: number | undefined;
  /** Recover from failed calls: automatic retries where they are safe, and recovery prompts. @defaultValue true */
  readonly enableBacktracking?: boolean | undefined;
  /** Show the model the whole conversation; without it only the task and the last turn. @defaultValue true */
  readonly conversationMemory?: boolean | undefined;

  /** Ends the run early, with a result that holds what is known. */
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: EventListener | undefined;
  /** Base URL of the provider's API, in the form its SDK takes. */
  readonly baseUrl?: string | undefined;
  /** API of the provider, for OpenAI `chat` or `responses`. @defaultValue the one that serves the model */
  readonly api?: string | undefined;
  /** Decides every tool call and checks every result. Rules of your own go into its `decisionPoint` and `outputTypes`. */
  readonly gate?: PolicyGate | undefined;
  /**
   * Where a gated run is recorded: a log, the folder of one, or false for nowhere. Needs `gate`.
   * @defaultValue the folder `SAFE_TRACE_DIR`, else `.mcp-observatory/traces`; nowhere in a replay with recorded tools
   */
  readonly audit?: AuditOption | undefined;
  /** Who the run is for, as the host knows it. Approvals are bound to it, and decision points and the audit see it. */
  readonly caller?: string | undefined;
  /** Governance fields for every span of the run (`riskTier`, `promptTemplateId`, `sessionId`, ...). */
  readonly govern?: GovernanceFields | undefined;
  /**
   * Let the model make a plan before the first call; or a plan of your own, whose calls are made, with their conditions,
   * before the model is asked. @defaultValue false
   */
  readonly plan?: boolean | readonly PlanStep[] | undefined;
  /** What undoes the calls of tools. The result offers it; see `automatic`. */
  readonly undo?: UndoOptions | undefined;
  /** Most tokens of the run, input and output, as the provider counts them. @defaultValue no limit */
  readonly maxTokens?: number | undefined;
  /** Most US dollars of the run; the model must have a price. @defaultValue no limit */
  readonly maxCostUsd?: number | undefined;
  /** Prices a model call. @defaultValue the package's price list */
  readonly priceOf?: PriceOf | undefined;
  readonly temperature?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Fields merged into each request to the provider as they are. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined;
  /** Retries of model calls. */
  readonly retry?: RetryPolicy | undefined;
  /** Conversation size, in tokens, above which older turns are summarized. @defaultValue 100000 */
  readonly maxContextTokens?: number | undefined;
  /** Latest turns a summary leaves whole. @defaultValue 4 */
  readonly keepTurns?: number | undefined;
  /** Most characters of one result the model is shown; the rest can be read by reference. @defaultValue 50000 */
  readonly maxResultChars?: number | undefined;
  /** Automatic retries of a call that got no answer, for read-only and idempotent tools. @defaultValue 2 */
  readonly toolRetries?: number | undefined;
  readonly breaker?: BreakerOptions | undefined;
  readonly loop?: LoopOptions | undefined;
  /** Use results of read-only tools again. @defaultValue false */
  readonly toolCache?: boolean | ToolCacheOptions | undefined;
  /** Answers what servers ask: elicitation, sampling, roots. */
  readonly handlers?: ServerRequestHandlers | undefined;
  readonly connection?: Omit<ConnectionOptions, 'handlers' | 'guard'> | undefined;
}

type Defaulted =
  | 'namespace'
  | 'timeout'
  | 'maxIterations'
  | 'enableBacktracking'
  | 'conversationMemory'
  | 'plan'
  | 'maxContextTokens'
  | 'keepTurns'
  | 'maxResultChars'
  | 'toolRetries';

/** Options with every default in its place. */
export type ResolvedOptions = Omit<RunOptions, Defaulted> & {
  readonly [Key in Defaulted]: NonNullable<RunOptions[Key]>;
};

const OPTIONS: OptionKinds<RunOptions> = {
  serverConfig: kinds.anything,
  systemPrompt: required(kinds.string),
  provider: kinds.anything,
  apiKey: secret(kinds.string),
  userPrompt: required(kinds.string),
  model: kinds.string,
  namespace: kinds.string,
  timeout: kinds.number,
  maxIterations: kinds.number,
  enableBacktracking: kinds.boolean,
  conversationMemory: kinds.boolean,
  signal: { expected: 'an AbortSignal', accepts: (value) => value instanceof AbortSignal },
  onEvent: kinds.function,
  baseUrl: kinds.string,
  api: kinds.string,
  gate: A_GATE,
  audit: AN_AUDIT,
  caller: kinds.string,
  govern: kinds.object,
  plan: either(kinds.boolean, { ...kinds.list, expected: 'a list of steps' }),
  undo: kinds.anything,
  maxTokens: kinds.number,
  maxCostUsd: kinds.number,
  priceOf: kinds.function,
  temperature: kinds.number,
  maxOutputTokens: kinds.number,
  extraBody: kinds.object,
  retry: kinds.object,
  maxContextTokens: kinds.number,
  keepTurns: kinds.number,
  maxResultChars: kinds.number,
  toolRetries: kinds.number,
  breaker: kinds.object,
  loop: kinds.object,
  toolCache: either(kinds.boolean, kinds.object),
  handlers: kinds.object,
  connection: kinds.object,
};

/**
 * A misspelled option is refused: a run without its gate or its budget is worse than none.
 * @throws ObservatoryError `INVALID_OPTION` that names the option, the value and what is expected.
 */
export function resolveOptions(options: RunOptions): ResolvedOptions {
  checkOptions(options, OPTIONS, 'mcpGhost()');
  if (options.userPrompt.trim() === '')
    throw invalid('userPrompt', options.userPrompt, 'a text that is not empty');
  const { provider } = options;
  const isChoice = typeof provider === 'string' || typeof provider === 'function' || Array.isArray(provider);
  if (!isChoice && !isProvider(provider)) {
    throw invalid('provider', provider, 'a provider name, a provider, a list of these, or a function');
  }
  if (typeof options.plan === 'object') checkPlan(options.plan);
  checkUndo(options.undo, options.gate !== undefined);
  if (options.gate === undefined && options.audit !== undefined && options.audit !== false) {
    throw invalid('audit', options.audit, 'given together with `gate`, whose decisions it records');
  }
  counts('breaker', options.breaker, { failureThreshold: 1, toolErrorThreshold: 1, coolDownMs: 0 });
  counts('loop', options.loop, { warnAfter: 2, stopAfter: 2, stopReadOnlyAfter: 2, window: 2 });
  return Object.freeze({
    ...options,
    namespace: options.namespace ?? 'mcp_ghost',
    timeout: number('timeout', options.timeout ?? 30, 0.001, 2_000_000),
    maxIterations: integer('maxIterations', options.maxIterations, 10, 1),
    enableBacktracking: options.enableBacktracking ?? true,
    conversationMemory: options.conversationMemory ?? true,
    plan: options.plan ?? false,
    maxContextTokens: integer('maxContextTokens', options.maxContextTokens, 100_000, 1_000),
    keepTurns: integer('keepTurns', options.keepTurns, 4, 1),
    maxResultChars: integer('maxResultChars', options.maxResultChars, 50_000, 200),
    toolRetries: integer('toolRetries', options.toolRetries, 2, 0),
    maxTokens: options.maxTokens === undefined ? undefined : integer('maxTokens', options.maxTokens, 0, 1),
    maxCostUsd:
      options.maxCostUsd === undefined
        ? undefined
        : number('maxCostUsd', options.maxCostUsd, 0, Number.MAX_VALUE),
  });
}

function number(name: string, value: number, least: number, most: number): number {
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw invalid(name, value, `a number from ${least} to ${most}`);
}

function integer(name: string, value: number | undefined, byDefault: number, least: number): number {
  return wholeNumber(name, value ?? byDefault, least);
}

/** Checks the fields of an option that are counts, each with its least value. */
function counts<T extends object>(name: string, given: T | undefined, least: Record<keyof T, number>): void {
  if (given === undefined) return;
  if (typeof given !== 'object' || given === null) throw invalid(name, given, 'an object');
  for (const [field, value] of Object.entries(given)) {
    const from = least[field as keyof T];
    if (from === undefined)
      throw invalid(`${name}.${field}`, value, `one of ${Object.keys(least).join(', ')}`);
    if (value !== undefined) wholeNumber(`${name}.${field}`, value, from);
  }
}

function invalid(name: string, value: unknown, expected: string): ObservatoryError {
  return invalidOption(`\`${name}\``, expected, typeof value === 'string' ? value.slice(0, 80) : value);
}
