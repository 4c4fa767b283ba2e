import type { TokenUsage } from '../../signals/index.ts';
import type {
  AnswerDelta,
  AssistantMessage,
  ConnectOptions,
  FinishReason,
  ModelMessage,
  ModelRequest,
  ModelTool,
  WireProvider,
} from '../../wire/index.ts';

/** A try that failed before the one that counts. */
export interface FailedAttempt {
  /** HTTP status, absent for a network fault. */
  readonly status?: number | undefined;
  readonly message: string;
  /** Time waited before the next try, in milliseconds. */
  readonly delayMs: number;
}

export interface CompletionOptions extends Omit<ModelRequest, 'model' | 'messages' | 'tools'> {
  /** @defaultValue the provider's default model */
  readonly model?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called for each piece of text as it arrives. A throw here is ignored. */
  readonly onDelta?: ((delta: AnswerDelta) => void) | undefined;
  /** Called before each wait for another try. A throw here is ignored. */
  readonly onRetry?: ((attempt: FailedAttempt) => void) | undefined;
  /** Stream the answer; `false` only for gateways that cannot. @defaultValue true */
  readonly stream?: boolean | undefined;
}

export interface Completion {
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  /** The provider's own word for it. */
  readonly rawFinishReason?: string | undefined;
  /** Tokens as the provider reported them; absent when it reported none. */
  readonly usage?: TokenUsage | undefined;
  /** Cost the provider reported, in US dollars. */
  readonly costUsd?: number | undefined;
  /** Tier that served the call, in the provider's words. */
  readonly serviceTier?: string | undefined;
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
  readonly toolDialect?: WireProvider['toolDialect'] | undefined;
  /** Host of the API, for telemetry. */
  readonly serverAddress?: string | undefined;
  /**
   * Asks the model for the next turn.
   * @throws ProviderError when the provider refuses or stays unreachable; the signal's reason when aborted.
   */
  createCompletion(
    messages: readonly ModelMessage[],
    tools: readonly ModelTool[],
    options?: CompletionOptions,
  ): Promise<Completion>;
}

/** What a provider factory is given. */
export interface ProviderOptions extends ConnectOptions {
  readonly model?: string | undefined;
  readonly retry?: RetryPolicy | undefined;
  /** Longest wait for the next byte of an answer, in milliseconds. @defaultValue 300000 */
  readonly idleTimeoutMs?: number | undefined;
  /** Waits before another try; a replay has no reason to. @defaultValue a timer */
  readonly wait?: ((delayMs: number, signal: AbortSignal | undefined) => Promise<void>) | undefined;
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
