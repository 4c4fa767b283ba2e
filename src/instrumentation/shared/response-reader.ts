import type { Attributes } from '@opentelemetry/api';
import { type Message, type MessagePart, parseMessages } from '../../interaction/index.ts';
import type { TokenUsage } from '../../signals/index.ts';

/** One choice of an answer. */
export interface OutputMessage extends Message {
  /** In the provider's own words. */
  readonly finishReason?: string | undefined;
}

/** What a provider's response said, in the words of semconv 1.41. */
export interface ModelResponse {
  readonly id?: string | undefined;
  readonly model?: string | undefined;
  /** One per choice, in the provider's own words; in those of the conventions for an API that has none of its own. */
  readonly finishReasons: readonly string[];
  readonly usage?: TokenUsage | undefined;
  /** What the provider says the call cost, in US dollars (OpenRouter). */
  readonly costUsd?: number | undefined;
  /** Composed when they are asked for, which nobody does where neither content nor signals are wanted. */
  readonly messages: () => readonly OutputMessage[];
  /** Calls the application is asked to make, over all choices. */
  readonly toolCallCount: number;
  /** Attributes of this provider only. */
  readonly attributes?: Attributes | undefined;
  /** Set when the response itself reports a failure, under a successful HTTP status. */
  readonly errorType?: string | undefined;
}

/**
 * Reads the response of one call: `whole` once, or `chunk` for each chunk of a stream; `result` may be asked for at
 * any time, also in mid-stream.
 */
export interface ResponseReader {
  whole(value: unknown): void;
  chunk(value: unknown): void;
  result(): ModelResponse;
}

/** One choice, from what the provider wrote: a message, or the items or parts of one. */
export function outputMessage(written: unknown, finishReason: string | undefined): OutputMessage {
  const parts: MessagePart[] = parseMessages(written, 'assistant').flatMap((message) => message.parts);
  return { role: 'assistant', parts, finishReason };
}
