import type { JsonObject } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import type { AssistantMessage, Message } from './messages.ts';

/** A tool as a model sees it: the name and schema are already acceptable to the provider. */
export interface ModelTool {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema of the arguments, an object schema. */
  readonly parameters: JsonObject;
}

/**
 * Why a model stopped, in one vocabulary:
 * - `stop`: it is done. `tool_calls`: it wants tools run.
 * - `length`: the output limit cut it. `context_length`: the context window is full.
 * - `content_filter`: it refused or was blocked. `malformed_call`: it wrote a call the provider could not read.
 * - `pause`: the provider wants the turn sent back so that it can go on.
 * - `other`: a reason this version does not know; see the raw one.
 */
export type FinishReason =
  | 'stop'
  | 'tool_calls'
  | 'length'
  | 'context_length'
  | 'content_filter'
  | 'malformed_call'
  | 'pause'
  | 'other';

/** What a model is told about using tools. `none` keeps the tools listed and forbids calls. */
export type ToolChoice = 'auto' | 'none' | 'required';

/** A try that failed before the one that counts. */
export interface FailedAttempt {
  /** HTTP status, absent for a network fault. */
  readonly status?: number | undefined;
  readonly message: string;
  /** Time waited before the next try, in milliseconds. */
  readonly delayMs: number;
}

/** A piece of an answer while it arrives. */
export interface CompletionDelta {
  readonly type: 'text' | 'reasoning';
  readonly text: string;
}

export interface CompletionOptions {
  /** @defaultValue the provider's default model */
  readonly model?: string | undefined;
  /** Most tokens the answer may have. @defaultValue the provider's own limit; for Anthropic, which needs one, 4,096 to 16,000 by model */
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  /** @defaultValue 'auto' */
  readonly toolChoice?: ToolChoice | undefined;
  /**
   * The conversation will grow and be sent again: let the provider keep what is the same. Only Anthropic must be told;
   * the others do it by themselves. @defaultValue false
   */
  readonly cachePrompt?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called for each piece of text as it arrives. A throw here is ignored. */
  readonly onDelta?: ((delta: CompletionDelta) => void) | undefined;
  /** Called before each wait for another try. A throw here is ignored. */
  readonly onRetry?: ((attempt: FailedAttempt) => void) | undefined;
  /** Stream the answer; `false` only for gateways that cannot. @defaultValue true */
  readonly stream?: boolean | undefined;
  /** Fields merged into the request body as they are (`reasoning_effort`, `thinking`, `generationConfig`). */
  readonly extraBody?: JsonObject | undefined;
}

export interface Completion {
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  /** The provider's own word for it. */
  readonly rawFinishReason?: string | undefined;
  /** Tokens as the provider reported them; absent when it reported none. */
  readonly usage?: TokenUsage | undefined;
  /** The answering model. */
  readonly model?: string | undefined;
  readonly responseId?: string | undefined;
  readonly failedAttempts: readonly FailedAttempt[];
  /** From the start of the try that counts to the first piece of the answer, in milliseconds. */
  readonly timeToFirstChunkMs?: number | undefined;
  /** The request body and the response message on the wire (a stream put together), for recording. */
  readonly wire: { readonly request: unknown; readonly response: unknown };
}

/** The one thing the orchestrator needs from a model provider. */
export interface Provider {
  /** Name in the words of the semantic conventions: `openai`, `anthropic`, `gcp.gemini`. */
  readonly name: string;
  readonly defaultModel: string;
  /** Whose rules tool names and schemas are made to fit. @defaultValue 'openai', the loosest */
  readonly toolDialect?: 'openai' | 'anthropic' | 'gemini' | undefined;
  /** Host of the API, for telemetry. */
  readonly serverAddress?: string | undefined;
  /**
   * Asks the model for the next turn.
   * @throws ProviderError when the provider refuses or stays unreachable; the signal's reason when aborted.
   */
  createCompletion(
    messages: readonly Message[],
    tools: readonly ModelTool[],
    options?: CompletionOptions,
  ): Promise<Completion>;
}

/** What a provider factory is given. */
export interface ProviderOptions {
  /** @defaultValue the provider's environment variable, then a `.env` file in the working directory */
  readonly apiKey?: string | undefined;
  /** Base URL of the API, in the form the provider's SDK takes. */
  readonly baseUrl?: string | undefined;
  readonly model?: string | undefined;
  readonly retry?: RetryPolicy | undefined;
  /** Longest wait for the next byte of an answer, in milliseconds. @defaultValue 300000 */
  readonly idleTimeoutMs?: number | undefined;
  /** Stands in for the global `fetch`, to record or play what goes over the wire. */
  readonly fetch?: typeof fetch | undefined;
  /** Waits before another try; a replay has no reason to. @defaultValue a timer */
  readonly wait?: ((delayMs: number, signal: AbortSignal | undefined) => Promise<void>) | undefined;
  /** Environment read for keys. @defaultValue process.env */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface RetryPolicy {
  /** Tries in all. @defaultValue 4 */
  readonly maxAttempts?: number | undefined;
  /** Wait before the first retry, in milliseconds; doubles each time. @defaultValue 500 */
  readonly initialDelayMs?: number | undefined;
  /** Longest wait of our own choosing, in milliseconds. @defaultValue 8000 */
  readonly maxDelayMs?: number | undefined;
  /**
   * Longest wait a provider may ask for, in milliseconds. When it asks for more the call fails at once, with the
   * wait in the error, since trying earlier would fail again. @defaultValue 60000
   */
  readonly maxRetryAfterMs?: number | undefined;
}

export type ProviderFactory = (options: ProviderOptions) => Promise<Provider> | Provider;
