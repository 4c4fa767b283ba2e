import type {
  ChatCompletionCreateParamsBase,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import type { ModelRequest, ModelTool } from '../contract/index.ts';
import {
  type AssistantMessage,
  argumentsForHistory,
  fitMessages,
  type ImagePart,
  imageLabel,
  listToolCalls,
  type ModelMessage,
  pairCallsWithResults,
  type TextPart,
  type ToolMessage,
  visibleText,
  wireCallId,
} from '../contract/index.ts';

export type ChatRequest = Omit<ChatCompletionCreateParamsBase, 'stream'>;

/** Writes the body of a Chat Completions request. */
export function writeChatRequest(request: ModelRequest): ChatRequest {
  const { model, messages, tools, toolChoice, maxOutputTokens, temperature, extraBody } = request;
  return {
    model,
    messages: fitMessages(pairCallsWithResults(messages), 'openai').flatMap(toChatMessages),
    ...(tools.length === 0 ? {} : { tools: tools.map(toChatTool) }),
    ...(tools.length === 0 || toolChoice === undefined ? {} : { tool_choice: toolChoice }),
    ...(maxOutputTokens === undefined ? {} : { max_completion_tokens: maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...extraBody,
  };
}

/** Never strict: strict mode refuses optional properties and much of JSON Schema that MCP tools use. */
function toChatTool(tool: ModelTool): NonNullable<ChatRequest['tools']>[number] {
  return {
    type: 'function',
    function: {
      name: tool.name,
      ...(tool.description === undefined ? {} : { description: tool.description }),
      parameters: tool.parameters as Record<string, unknown>,
    },
  };
}

function toChatMessages(message: ModelMessage): ChatCompletionMessageParam[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.text }];
    case 'user':
      return [{ role: 'user', content: userContent(message.parts) }];
    case 'assistant':
      return assistantMessages(message);
    case 'tool':
      return toolMessages(message);
  }
}

type UserContent = Extract<ChatCompletionMessageParam, { role: 'user' }>['content'];

function userContent(parts: readonly (TextPart | ImagePart)[]): UserContent {
  if (parts.every((part) => part.type === 'text') && parts.length === 1) return visibleText(parts);
  return parts.map((part) =>
    part.type === 'text'
      ? { type: 'text', text: part.text }
      : { type: 'image_url', image_url: { url: `data:${part.mimeType};base64,${part.data}` } },
  );
}

function assistantMessages(message: AssistantMessage): ChatCompletionMessageParam[] {
  const text = visibleText(message.parts);
  const calls = listToolCalls(message);
  // A message needs text or calls; one that held only another provider's reasoning says nothing here.
  if (text === '' && calls.length === 0) return [];
  if (calls.length === 0) return [{ role: 'assistant', content: text }];
  return [
    {
      role: 'assistant',
      content: text === '' ? null : text,
      tool_calls: calls.map((call) => ({
        id: wireCallId(call.id),
        type: 'function' as const,
        function: { name: call.name, arguments: JSON.stringify(argumentsForHistory(call)) },
      })),
      ...reasoningContent(message),
    },
  ];
}

/** `reasoning_content` of compatible servers (DeepSeek and others), which want it back while tools are being used. */
function reasoningContent(message: AssistantMessage): { reasoning_content?: string } {
  let text = '';
  for (const part of message.parts) {
    if (part.type === 'reasoning' && part.provider === 'openai' && typeof part.raw === 'string')
      text += part.raw;
  }
  return text === '' ? {} : { reasoning_content: text };
}

/** One message per call id; images, which a tool message cannot hold, follow in a user message. */
function toolMessages(message: ToolMessage): ChatCompletionMessageParam[] {
  const wire: ChatCompletionMessageParam[] = [];
  const images: Extract<UserContent, readonly unknown[]> = [];
  for (const result of message.parts) {
    const texts: string[] = [];
    for (const part of result.content) {
      if (part.type === 'text') {
        texts.push(part.text);
        continue;
      }
      texts.push(`[${part.mimeType} image, shown below]`);
      images.push(
        { type: 'text', text: imageLabel(result.name) },
        { type: 'image_url', image_url: { url: `data:${part.mimeType};base64,${part.data}` } },
      );
    }
    wire.push({ role: 'tool', tool_call_id: wireCallId(result.id), content: texts.join('\n') });
  }
  if (images.length > 0) wire.push({ role: 'user', content: images });
  return wire;
}
