import type {
  ResponseCreateParamsBase,
  ResponseInputContent,
  ResponseInputItem,
} from 'openai/resources/responses/responses';
import { isObject, type JsonObject, readList } from '../../json/index.ts';
import type {
  AssistantMessage,
  AssistantPart,
  ImagePart,
  ModelMessage,
  ModelRequest,
  ModelTool,
  TextPart,
  ToolResultPart,
} from '../contract/index.ts';
import { argumentsForHistory, fitMessages, pairCallsWithResults, wireCallId } from '../contract/index.ts';
import { isReasoningModel } from './models.ts';

export type ResponsesRequest = Omit<ResponseCreateParamsBase, 'stream'>;

/**
 * Writes the body of a Responses request. Nothing is stored at OpenAI: each request holds the whole conversation, with
 * the model's reasoning encrypted in it.
 */
export function writeResponsesRequest(request: ModelRequest): ResponsesRequest {
  const { model, messages, tools, toolChoice, maxOutputTokens, temperature, extraBody } = request;
  const isStored = extraBody?.store === true;
  return {
    model,
    input: fitMessages(pairCallsWithResults(messages), 'openai').flatMap((message) =>
      toItems(message, isStored),
    ),
    ...(tools.length === 0 ? {} : { tools: tools.map(toResponsesTool) }),
    ...(tools.length === 0 || toolChoice === undefined ? {} : { tool_choice: toolChoice }),
    ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    store: false,
    ...(isReasoningModel(model) ? { include: ['reasoning.encrypted_content'] } : {}),
    ...extraBody,
  } as ResponsesRequest;
}

/** Never strict: strict mode refuses optional properties and much of JSON Schema that MCP tools use. */
function toResponsesTool(tool: ModelTool): NonNullable<ResponsesRequest['tools']>[number] {
  return {
    type: 'function',
    name: tool.name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
    parameters: tool.parameters as Record<string, unknown>,
    strict: false,
  };
}

function toItems(message: ModelMessage, isStored: boolean): ResponseInputItem[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.text }];
    case 'user':
      return [{ role: 'user', content: listContent(message.parts) }];
    case 'assistant':
      return assistantItems(message, isStored);
    case 'tool':
      return message.parts.map(toolOutput);
  }
}

function listContent(parts: readonly (TextPart | ImagePart)[]): string | ResponseInputContent[] {
  const [only] = parts;
  if (parts.length === 1 && only?.type === 'text') return only.text;
  return parts.map((part) =>
    part.type === 'text'
      ? { type: 'input_text', text: part.text }
      : { type: 'input_image', image_url: `data:${part.mimeType};base64,${part.data}`, detail: 'auto' },
  );
}

function toolOutput({ id, content }: ToolResultPart): ResponseInputItem {
  const output = content.length === 0 ? '' : listContent(content);
  return { type: 'function_call_output', call_id: wireCallId(id), output: output as string };
}

/** The items in their order. Reasoning is refused without the item it led to, so none is left at the end. */
function assistantItems(message: AssistantMessage, isStored: boolean): ResponseInputItem[] {
  const items = message.parts.flatMap((part) => toItem(part, isStored));
  while (items.length > 0 && items.at(-1)?.type === 'reasoning') items.pop();
  return items;
}

function toItem(part: AssistantPart, isStored: boolean): ResponseInputItem[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ role: 'assistant', content: part.text, ...toPhase(part) }];
    case 'tool_call':
      return [
        {
          type: 'function_call',
          call_id: wireCallId(part.id),
          name: part.name,
          arguments: JSON.stringify(argumentsForHistory(part)),
        },
      ];
    case 'reasoning':
      return part.provider === 'openai' && isObject(part.raw) ? reasoningItem(part.raw, isStored) : [];
    case 'opaque':
      return part.provider === 'openai' ? [part.raw as ResponseInputItem] : [];
    case 'image':
      return [];
  }
}

function toPhase({ phase }: TextPart): { phase?: 'commentary' | 'final_answer' } {
  return phase === 'commentary' || phase === 'final_answer' ? { phase } : {};
}

/** Reasoning OpenAI has not stored must be in the item itself: encrypted, or in words from an open model. */
function reasoningItem(raw: JsonObject, isStored: boolean): ResponseInputItem[] {
  const content = readList(raw.content);
  const isWhole = typeof raw.encrypted_content === 'string' || content.length > 0;
  if (!isWhole && !isStored) return [];
  const { id, summary, encrypted_content } = raw;
  return [
    {
      type: 'reasoning',
      id,
      summary: readList(summary),
      ...(content.length === 0 ? {} : { content }),
      ...(typeof encrypted_content === 'string' ? { encrypted_content } : {}),
    } as ResponseInputItem,
  ];
}
