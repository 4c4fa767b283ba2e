/** What a run said and was told, in the words of the semantic conventions, for the span processor. */
import type { Span } from '@opentelemetry/api';
import { attachConversation, type CallContent, type Message as SignalMessage } from '../interaction/index.ts';
import { type Completion, type Message, type ModelTool, textOf } from './providers/index.ts';

type OutputMessage = CallContent['output'][number];

/** Hands over what a model call said, without a completion when it failed. */
export function attachCompletion(
  span: Span,
  provider: string,
  model: string,
  request: readonly Message[],
  tools: readonly ModelTool[],
  completion: Completion | undefined,
): void {
  const messages = (): SignalMessage[] => request.map(toSignalMessage);
  attachConversation(span, {
    provider,
    messages,
    answer: () => (completion === undefined ? undefined : textOf(completion.message.parts)),
    model: () => completion?.model ?? model,
    usage: () => completion?.usage,
    costUsd: () => completion?.costUsd,
    serviceTier: () => completion?.serviceTier,
    content: () => ({
      input: messages(),
      output: completion === undefined ? [] : [outputMessage(completion)],
      toolDefinitions: tools.length === 0 ? undefined : tools.map(toolDefinition),
    }),
  });
}

/** The answer of a completion with the reason it ended; the conventions have a word of their own for calls. */
function outputMessage({ message, finishReason }: Completion): OutputMessage {
  return {
    ...toSignalMessage(message),
    finishReason: finishReason === 'tool_calls' ? 'tool_call' : finishReason,
  };
}

/** A tool as `gen_ai.tool.definitions` holds it. */
function toolDefinition({ name, description, parameters }: ModelTool): object {
  return { type: 'function', name, description, parameters };
}

/** A message of the conversation in the words of the semantic conventions. */
function toSignalMessage(message: Message): SignalMessage {
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
          response: textOf(part.content),
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
