import type { Span } from '@opentelemetry/api';
import {
  answerText,
  attachInteraction,
  conversationText,
  type Message,
  wantsInteraction,
} from '../../interaction/index.ts';
import type { ModelResponse } from './response-reader.ts';

/**
 * Puts what a call said beside its span, where the span processor finds it; nothing of it is exported. The texts are
 * composed when they are first read: without a processor they are never composed at all.
 */
export function attachCall(
  span: Span,
  call: {
    readonly provider: string;
    readonly model: string | undefined;
    readonly messages: () => readonly Message[];
  },
  response: () => ModelResponse,
): void {
  if (!wantsInteraction(span)) return;
  let composed: ReturnType<typeof conversationText> | undefined;
  const text = (): ReturnType<typeof conversationText> => {
    composed ??= conversationText(call.messages());
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
      return answerText(response().messages);
    },
    provider: call.provider,
    get model() {
      return response().model ?? call.model;
    },
    get usage() {
      return response().usage;
    },
  });
}
