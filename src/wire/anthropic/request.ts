import type {
  ContentBlockParam,
  MessageCreateParamsBase,
  MessageParam,
  Tool,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages';
import {
  type AssistantPart,
  argumentsForHistory,
  fitMessages,
  type ImagePart,
  type ModelMessage,
  type ModelRequest,
  type ModelTool,
  pairCallsWithResults,
  type TextPart,
  type ToolResultPart,
  wireCallId,
} from '../contract/index.ts';
import { ANTHROPIC_NAME } from './answer.ts';

export type MessagesRequest = Omit<MessageCreateParamsBase, 'stream'>;

/** Writes the body of a Messages request. */
export function writeMessagesRequest(request: ModelRequest): MessagesRequest {
  const { model, messages, tools, toolChoice, temperature } = request;
  const lead = leadingSystem(messages);
  return {
    model,
    max_tokens: request.maxOutputTokens ?? defaultMaxTokens(model),
    ...(lead === 0 ? {} : { system: systemText(fitMessages(messages.slice(0, lead), 'anthropic')) }),
    messages: writeMessages(fitMessages(pairCallsWithResults(messages.slice(lead)), 'anthropic')),
    ...(tools.length === 0 ? {} : { tools: tools.map(writeTool) }),
    ...(tools.length === 0 || toolChoice === undefined
      ? {}
      : { tool_choice: { type: toolChoice === 'required' ? 'any' : toolChoice } }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(request.cachePrompt === true ? { cache_control: { type: 'ephemeral' } } : {}),
    ...request.extraBody,
  } as MessagesRequest;
}

/** The API demands a limit; the Claude 3 families refuse one above their own. */
function defaultMaxTokens(model: string): number {
  if (/claude-3-(?:opus|sonnet|haiku)/.test(model)) return 4_096;
  return /claude-3-/.test(model) ? 8_192 : 16_000;
}

/** Never strict: a handful of strict MCP tools already gives "The compiled grammar is too large". */
function writeTool(tool: ModelTool): Tool {
  return {
    name: tool.name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
    input_schema: tool.parameters as Tool.InputSchema,
  };
}

function leadingSystem(messages: readonly ModelMessage[]): number {
  const first = messages.findIndex((message) => message.role !== 'system');
  return first < 0 ? messages.length : first;
}

function systemText(messages: readonly ModelMessage[]): string {
  return messages.map((message) => (message.role === 'system' ? message.text : '')).join('\n\n');
}

/** Turns of one role are joined: results first, as the API wants them right after the calls, then text. */
function writeMessages(messages: readonly ModelMessage[]): MessageParam[] {
  const wire: { role: 'user' | 'assistant'; content: ContentBlockParam[] }[] = [];
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const content = toBlocks(message);
    if (content.length === 0) continue;
    const last = wire.at(-1);
    if (last?.role === role) last.content.push(...content);
    else wire.push({ role, content });
  }
  return wire;
}

function toBlocks(message: ModelMessage): ContentBlockParam[] {
  switch (message.role) {
    case 'system':
      return textBlocks(message.text);
    case 'user':
      return message.parts.flatMap(textOrImage);
    case 'assistant':
      return message.parts.flatMap(assistantBlocks);
    case 'tool':
      return message.parts.map(toolResult);
  }
}

function assistantBlocks(part: AssistantPart): ContentBlockParam[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part.text);
    case 'image':
      return [];
    case 'reasoning':
    case 'opaque':
      return part.provider === ANTHROPIC_NAME ? [part.raw as ContentBlockParam] : [];
    case 'tool_call':
      return [
        { type: 'tool_use', id: wireCallId(part.id), name: part.name, input: argumentsForHistory(part) },
      ];
  }
}

/** The API refuses an error without content. */
const NO_TEXT = 'The tool reported an error without a text';

function toolResult(result: ToolResultPart): ToolResultBlockParam {
  const content = result.content.flatMap(textOrImage) as Exclude<ToolResultBlockParam['content'], string>;
  return {
    type: 'tool_result',
    tool_use_id: wireCallId(result.id),
    ...(content === undefined || content.length === 0
      ? result.isError
        ? { content: NO_TEXT }
        : {}
      : { content }),
    ...(result.isError ? { is_error: true } : {}),
  };
}

function textOrImage(part: TextPart | ImagePart): ContentBlockParam[] {
  if (part.type === 'text') return textBlocks(part.text);
  const mediaType = part.mimeType as 'image/png';
  return [{ type: 'image', source: { type: 'base64', media_type: mediaType, data: part.data } }];
}

/** The API refuses text blocks of nothing but white space. */
function textBlocks(text: string): ContentBlockParam[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}
