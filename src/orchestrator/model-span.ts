/** What the span and the metrics of a model call hold, in the words of the semantic conventions. */

import type { Attributes, Span } from '@opentelemetry/api';
import { semconv } from '../base/index.ts';
import {
  attachConversation,
  type CallContent,
  responseAttributes,
  type Message as SignalMessage,
} from '../interaction/index.ts';
import { type Completion, type ModelMessage, type ModelTool, visibleText } from './providers/index.ts';

type OutputMessage = CallContent['output'][number];

/** A model call and its answer, which is absent when it failed. */
export interface ToldCall {
  readonly request: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
  readonly completion?: Completion;
  readonly history?: readonly ModelMessage[] | undefined;
}

/** Hands over what a model call said. */
export function attachCompletion(
  span: Span,
  { provider, model }: { readonly provider: string; readonly model: string },
  { request, tools, completion, history }: ToldCall,
): void {
  const messages = (): SignalMessage[] => request.map(toSignalMessage);
  attachConversation(span, {
    provider,
    messages,
    history: history && (() => history.map(toSignalMessage)),
    answer: () => (completion === undefined ? undefined : visibleText(completion.message.parts)),
    model: () => completion?.model ?? model,
    usage: () => completion?.usage,
    costUsd: () => completion?.costUsd,
    serviceTier: () => completion?.serviceTier,
    calledNone: () =>
      tools.length > 0 && completion?.message.parts.every(({ type }) => type === 'text') === true,
    tools: tools.length === 0 ? undefined : tools,
    isTextAlone: () => request.every(({ role }) => role === 'system' || role === 'user'),
    content: () => ({
      input: messages(),
      output: completion === undefined ? [] : [outputMessage(completion)],
      toolDefinitions: tools.length === 0 ? undefined : tools.map(toolDefinition),
    }),
  });
}

function outputMessage({ message, finishReason, rawFinishReason }: Completion): OutputMessage {
  return {
    ...toSignalMessage(message),
    finishReason: finishReason === 'other' ? rawFinishReason : finishReason,
  };
}

function toolDefinition({ name, description, parameters }: ModelTool): object {
  return { type: 'function', name, description, parameters };
}

/** A message of the conversation in the words of the semantic conventions. */
function toSignalMessage(message: ModelMessage): SignalMessage {
  switch (message.role) {
    case 'system':
      return { role: 'system', parts: [{ type: 'text', content: message.text }] };
    case 'tool':
      return {
        role: 'tool',
        parts: message.parts.map((part) => ({
          type: 'tool_call_response',
          id: part.id,
          name: part.name,
          response: visibleText(part.content),
          isError: part.isError,
        })),
      };
    default:
      return {
        role: message.role,
        parts: message.parts.flatMap((part): SignalMessage['parts'] => {
          if (part.type === 'text') return [{ type: 'text', content: part.text }];
          if (part.type === 'reasoning') return [{ type: 'reasoning', content: part.text }];
          if (part.type !== 'tool_call') return [];
          return [{ type: 'tool_call', id: part.id, name: part.name, arguments: part.arguments }];
        }),
      };
  }
}

export const ATTR_RETRIES = 'observatory.retries';

/** What the span of a model call says of its answer. */
export function completionAttributes(completion: Completion): Attributes {
  const { model, responseId, usage, rawFinishReason, finishReason, timeToFirstChunkMs, failedAttempts } =
    completion;
  return {
    ...responseAttributes({
      model,
      responseId,
      usage,
      finishReasons: [rawFinishReason ?? finishReason],
    }),
    ...(timeToFirstChunkMs === undefined
      ? {}
      : { [semconv.ATTR_GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK]: timeToFirstChunkMs / 1000 }),
    ...(failedAttempts.length === 0 ? {} : { [ATTR_RETRIES]: failedAttempts.length }),
  };
}
