/**
 * What one model or tool call said, whatever wrote the span.
 *
 * Terms: the *prompt* is the exact final text given to the model; the *answer* the text it gave back; the *retrieved
 * context* the evidence it was given (tool results, documents); the *tool result summary* what a failed tool said.
 */
import type { TokenUsage } from '../signals/index.ts';

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
}
