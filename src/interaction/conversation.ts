import type { Span } from '@opentelemetry/api';
import type { TokenUsage } from '../signals/index.ts';
import { attachInteraction, wantsInteraction } from './attached.ts';
import { type ConversationText, conversationText, type Message } from './messages.ts';
import type { CallContent } from './types.ts';

/** What was said in a call to a model, as whoever makes the call can tell it. */
export interface AttachedConversation {
  readonly provider: string;
  /** What the model was given. */
  readonly messages: () => readonly Message[];
  readonly answer: () => string | undefined;
  /** Answering model where known, else the requested one. */
  readonly model: () => string | undefined;
  readonly usage: () => TokenUsage | undefined;
  /** What the provider says the call cost, in US dollars. */
  readonly costUsd?: (() => number | undefined) | undefined;
  /** Tier that served the call, in the provider's words; prices differ by it. */
  readonly serviceTier?: (() => string | undefined) | undefined;
  readonly content?: (() => CallContent) | undefined;
}

/**
 * Puts what a call said beside its span, where the span processor finds it; nothing of it is exported. Each part is
 * asked for when it is first read: without a processor, never.
 */
export function attachConversation(span: Span, said: AttachedConversation): void {
  if (!wantsInteraction(span)) return;
  let composed: ConversationText | undefined;
  const text = (): ConversationText => {
    composed ??= conversationText(said.messages());
    return composed;
  };
  attachInteraction(span, {
    get prompt() {
      return text().prompt;
    },
    get retrievedContext() {
      return text().retrievedContext;
    },
    get toolResultSummary() {
      return text().toolResultSummary;
    },
    get answer() {
      return said.answer();
    },
    get model() {
      return said.model();
    },
    get usage() {
      return said.usage();
    },
    get providerCostUsd() {
      return said.costUsd?.();
    },
    get serviceTier() {
      return said.serviceTier?.();
    },
    provider: said.provider,
    content: said.content,
  });
}
