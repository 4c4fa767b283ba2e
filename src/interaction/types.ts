/**
 * What one model or tool call said, whatever wrote the span.
 *
 * Terms: the *prompt* is the exact final text given to the model; the *answer* the text it gave back; the *retrieved
 * context* the evidence it was given (tool results, documents); the *tool result summary* what a failed tool said.
 */
import type { TokenUsage } from '../signals/index.ts';
import type { Message } from './messages.ts';

/** The messages of a call as they stand, where the texts above only sum them up. */
export interface CallContent {
  /** What the model was given, its system messages included. */
  readonly input: readonly Message[];
  /** What it gave back, with the reason it stopped in the words of the semantic conventions. */
  readonly output: readonly (Message & { readonly finishReason?: string | undefined })[];
  /** Tools it could choose from, as `gen_ai.tool.definitions` holds them. */
  readonly toolDefinitions?: readonly unknown[] | undefined;
}

export interface Interaction {
  readonly prompt?: string | undefined;
  readonly answer?: string | undefined;
  readonly retrievedContext?: string | undefined;
  /** A second answer to the same prompt, for self-consistency. */
  readonly secondaryAnswer?: string | undefined;
  readonly toolResultSummary?: string | undefined;
  /** Provider in the words of the semantic conventions, e.g. `openai`, `anthropic`, `gcp.gemini`. */
  readonly provider?: string | undefined;
  /** Answering model where known, else the requested one. */
  readonly model?: string | undefined;
  /** Tokens as the provider reported them; absent when it reported none. */
  readonly usage?: TokenUsage | undefined;
  /** Host the request went to, e.g. `api.openai.com`: who serves a model decides its price. */
  readonly serverAddress?: string | undefined;
  /** Tier that served the call, in the provider's words: `default`, `flex`, `batch`, `priority` ... */
  readonly serviceTier?: string | undefined;
  /** Cost the provider itself reported, in US dollars (OpenRouter's `usage.cost`, for instance). */
  readonly providerCostUsd?: number | undefined;
  /** Arguments of a tool call, as a JSON value. */
  readonly toolArguments?: unknown;
  /** Result of a tool call, as a JSON value. No signal reads it; it is there for content capture. */
  readonly toolResult?: unknown;
  /** The messages themselves, asked for only where content is captured. */
  readonly content?: (() => CallContent) | undefined;
}
