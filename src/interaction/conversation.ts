import type { Span } from '@opentelemetry/api';
import type { TokenUsage } from '../signals/index.ts';
import { attachUnread } from './attached.ts';
import { conversationText, type Message } from './messages.ts';
import { findPlainRequest } from './plain-request.ts';
import type { CallContent, Interaction } from './types.ts';

/**
 * A model call's texts and usage, as its caller knows them. Every function is called at most when its value is needed.
 */
export interface AttachedConversation {
  readonly provider: string;
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
 * Attaches a conversation to a span for the span processor; nothing of it is exported. It is read when the processor asks
 * for it, so never without one.
 */
export function attachConversation(span: Span, said: AttachedConversation): void {
  attachUnread(span, () => read(said));
}

function read(said: AttachedConversation): Interaction {
  const { history, tools } = said;
  const messages = said.messages();
  const text = conversationText(messages);
  const { steps, isOpening } = history === undefined ? text : conversationText(history());
  return {
    prompt: text.prompt,
    answer: said.answer(),
    retrievedContext: text.retrievedContext,
    toolResultSummary: text.toolResultSummary,
    steps: steps ?? (isOpening === true && said.calledNone?.() === true ? [] : undefined),
    stepContext: text.stepContext,
    provider: said.provider,
    model: said.model(),
    usage: said.usage(),
    serviceTier: said.serviceTier?.(),
    providerCostUsd: said.costUsd?.(),
    tools,
    // Read for nothing but the share of the tools.
    plainRequest:
      tools !== undefined && said.isTextAlone?.() === true ? findPlainRequest(messages) : undefined,
    content: said.content,
  };
}
