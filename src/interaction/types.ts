/**
 * The content of one model or tool call, independent of the instrumentation that wrote the span.
 *
 * Terms: the *prompt* is the exact final text sent to the model; the *answer* the text it returned; the *retrieved
 * context* its evidence (tool results, documents); the *tool result summary* the output of failed tools.
 */
import type { FieldValues } from '../base/index.ts';
import type { TraceStep } from '../evidence/index.ts';
import type { PlainRequest, TextIdentities, TokenUsage } from '../signals/index.ts';
import type { Message } from './messages.ts';

/** The full messages of a call, for content capture. */
export interface CallContent {
  /** The input messages, including system messages. */
  readonly input: readonly Message[];
  /** The output messages, with the finish reason in the words of any provider. */
  readonly output: readonly (Message & { readonly finishReason?: string | undefined })[];
  /** The available tools, in the form of `gen_ai.tool.definitions`. */
  readonly toolDefinitions?: readonly unknown[] | undefined;
}

export interface Interaction {
  readonly prompt?: string | undefined;
  readonly answer?: string | undefined;
  readonly retrievedContext?: string | undefined;
  /** A second answer to the same prompt, for self-consistency. */
  readonly secondaryAnswer?: string | undefined;
  readonly toolResultSummary?: string | undefined;
  /** All tool calls before the answer, in order; empty if tools were offered and none was called. */
  readonly steps?: readonly TraceStep[] | undefined;
  /** More calls than `steps` may have been made: these are what one process saw of a trace. */
  readonly stepsArePartial?: boolean | undefined;
  /** The part of `retrievedContext` that holds the results of `steps`. */
  readonly stepContext?: string | undefined;
  /** Provider in the words of the semantic conventions, e.g. `openai`, `anthropic`, `gcp.gemini`. */
  readonly provider?: string | undefined;
  /** Answering model where known, else the requested one. */
  readonly model?: string | undefined;
  /** Tokens reported by the provider, if any. */
  readonly usage?: TokenUsage | undefined;
  /** Host the request went to, e.g. `api.openai.com`: the host decides the price. */
  readonly serverAddress?: string | undefined;
  /** Tier that served the call, in the provider's words: `default`, `flex`, `batch`, `priority` ... */
  readonly serviceTier?: string | undefined;
  /** Cost reported with the call in US dollars, such as OpenRouter's `usage.cost`. */
  readonly providerCostUsd?: number | undefined;
  /** Whether an instrumentation computed that cost from its own list of prices. */
  readonly isCostComputed?: boolean | undefined;
  /** The model that was asked for, where its name tells more of the price than that of the answering one (Bedrock). */
  readonly requestedModel?: string | undefined;
  /** The tools the call offers, in the form of the provider. */
  readonly tools?: unknown;
  /** The texts of a request that holds nothing else. */
  readonly plainRequest?: PlainRequest | undefined;
  /** Arguments of a tool call, as a JSON value. */
  readonly toolArguments?: unknown;
  /** @internal Their canonical JSON, where it was written before they could change. */
  readonly toolArgumentsText?: string | undefined;
  /** @internal The texts and arguments on the span itself, where they were read ahead. */
  readonly written?: Interaction | undefined;
  /** @internal What was found out of long texts ahead, in steps. */
  readonly identities?: TextIdentities | undefined;
  /** @internal The fields of its evidence, where they were computed ahead. */
  readonly evidence?: FieldValues | 'failed' | undefined;
  /** Result of a tool call, as a JSON value. Used for content capture only. */
  readonly toolResult?: unknown;
  /** Returns the messages; called only if content is captured. */
  readonly content?: (() => CallContent) | undefined;
}
