import { parseContainerOrKeep } from '../json/index.ts';
import type { Answer, AssistantPart, Choice, ToolCallPart } from '../wire/index.ts';
import type { Message, MessagePart } from './messages.ts';
import { parseOutputItem } from './parse-messages.ts';

/** A call the model asks the application to make. Tools that the provider runs by itself are not among these. */
export interface RequestedToolCall {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** A JSON value, or the text the model wrote where that is not JSON. */
  readonly arguments?: unknown;
}

export interface OutputMessage extends Message {
  /** In our words, or in the provider's own where we have none. */
  readonly finishReason?: string | undefined;
}

/** What a model said, one message per choice, in the words of the semantic conventions. */
export function outputMessages(answer: Answer): OutputMessage[] {
  return answer.choices().map(outputMessage);
}

function outputMessage({ parts, finishReason, rawFinishReason }: Choice): OutputMessage {
  const said: MessagePart[] = [];
  for (const part of parts) {
    if (part.type === 'text') said.push({ type: 'text', content: part.text });
    else said.push(...messageParts(part));
  }
  return {
    role: 'assistant',
    parts: said,
    finishReason: finishReason === 'other' ? rawFinishReason : finishReason,
  };
}

/** A part in the words of the semantic conventions; a part that they have none for is left out. */
function messageParts(part: AssistantPart): MessagePart[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', content: part.text }];
    case 'reasoning':
      return part.text === '' ? [] : [{ type: 'reasoning', content: part.text }];
    case 'tool_call':
      return [{ type: 'tool_call', ...toolCall(part) }];
    case 'opaque':
      return parseOutputItem(part.raw);
    case 'image':
      return [];
  }
}

/** The calls the first choice asks for. */
export function toolCallsOfAnswer(answer: Answer): RequestedToolCall[] {
  const [choice] = answer.choices();
  return (choice?.parts ?? []).filter((part) => part.type === 'tool_call').map(toolCall);
}

function toolCall({
  id,
  name,
  idAssigned,
  arguments: args,
  invalidArguments,
}: ToolCallPart): RequestedToolCall {
  return {
    id: idAssigned === true ? undefined : id,
    name,
    arguments: invalidArguments === undefined ? args : parseContainerOrKeep(invalidArguments.text),
  };
}
