import type { Span } from '@opentelemetry/api';
import { answerText, attachConversation } from '../../interaction/index.ts';
import type { CallDescription } from './call-description.ts';
import type { ModelResponse } from './response-reader.ts';

/** Hands over what a call said; see `attachConversation`. */
export function attachCall(span: Span, call: CallDescription, response: () => ModelResponse): void {
  attachConversation(span, {
    provider: call.provider,
    messages: call.messages,
    answer: () => answerText(response().messages()),
    model: () => response().model ?? call.model,
    usage: () => response().usage,
    costUsd: () => response().costUsd,
  });
}
