import type { Span } from '@opentelemetry/api';
import type { TokenUsage } from '../signals/index.ts';
import { attachInteraction, wantsInteraction } from './attached.ts';
import { type ConversationText, conversationText, type Message } from './messages.ts';
import { plainRequestOf } from './plain-request.ts';
import type { CallContent } from './types.ts';

/**
 * A model call's texts and usage, as its caller knows them. Every function is called at most when its value is needed.
 */
export interface AttachedConversation {
  readonly provider: string;
  /** The input messages. */
  readonly messages: () => readonly Message[];
  /** More of the conversation than the request holds: its tool calls count too. @defaultValue `messages` */
  readonly history?: (() => readonly Message[]) | undefined;
  readonly answer: () => string | undefined;
  /** Answering model where known, else the requested one. */
  readonly model: () => string | undefined;
  readonly usage: () => TokenUsage | undefined;
  /** Cost reported by the provider, in US dollars. */
  readonly costUsd?: (() => number | undefined) | undefined;
  /** Tier that served the call, in the provider's words; prices differ by it. */
  readonly serviceTier?: (() => string | undefined) | undefined;
  /** Whether the model was offered tools and its answer holds no call. */
  readonly calledNone?: (() => boolean) | undefined;
  readonly content?: (() => CallContent) | undefined;
  /** The tools that the call offers, in the form of the provider or framework. */
  readonly tools?: unknown;
  /** Whether the request holds texts alone: no media, no files. @defaultValue it may hold more */
  readonly isTextAlone?: (() => boolean) | undefined;
}

/**
 * Attaches a conversation to a span for the span processor; nothing of it is exported. Each part is computed when first
 * read, so never without a processor.
 */
export function attachConversation(span: Span, said: AttachedConversation): void {
  if (!wantsInteraction(span)) return;
  let composed: ConversationText | undefined;
  const steps = () => {
    const { history } = said;
    const { steps, isOpening } = history === undefined ? text() : conversationText(history());
    return steps ?? (isOpening === true && said.calledNone?.() === true ? [] : undefined);
  };
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
    get steps() {
      return steps();
    },
    get stepContext() {
      return text().stepContext;
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
    get plainRequest() {
      return said.isTextAlone?.() === true ? plainRequestOf(said.messages()) : undefined;
    },
    tools: said.tools,
    provider: said.provider,
    content: said.content,
  });
}
