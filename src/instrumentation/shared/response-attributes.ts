import type { Attributes } from '@opentelemetry/api';
import { semconv as names } from '../../base/index.ts';
import { addResponse, type Message } from '../../interaction/index.ts';
import { boundedJson } from './bounded-json.ts';
import type { ModelResponse } from './response-reader.ts';
import * as own from './semconv.ts';

/** Characters of content kept on one attribute; what is cut is marked and the JSON stays valid. */
const MAX_CONTENT_CHARS = 262_144;

/** Adds the attributes of a response that hold no content. */
export function addAnswer(attributes: Attributes, response: ModelResponse): void {
  const { id: responseId, model, usage } = response;
  if (response.attributes !== undefined) Object.assign(attributes, response.attributes);
  addResponse(attributes, { responseId, model, usage });
  const longWrite = usage?.cacheWrite1hTokens;
  if (longWrite !== undefined) attributes[own.ATTR_ANTHROPIC_CACHE_WRITE_1H] = longWrite;
  addEnd(attributes, response);
}

/** Adds what the spans an SDK makes by itself leave out. */
export function addToNative(attributes: Attributes, response: ModelResponse): void {
  const cacheWrite = response.usage?.cacheWriteTokens;
  if (cacheWrite !== undefined) attributes[names.ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS] = cacheWrite;
  addEnd(attributes, response);
}

function addEnd(attributes: Attributes, { toolCallCount, finishReasons: reasons }: ModelResponse): void {
  if (reasons.length > 0) attributes[names.ATTR_GEN_AI_RESPONSE_FINISH_REASONS] = [...reasons];
  if (toolCallCount > 0) attributes[own.ATTR_TOOL_CALL_COUNT] = toolCallCount;
}

/** What was said to the model, as JSON texts: SDK 2.x drops attribute values that are objects. */
export function requestContent(request: readonly Message[], tools: unknown): Attributes {
  const attributes: Attributes = {};
  const isSystem = ({ role }: Message): boolean => role === 'system' || role === 'developer';
  const system = request.filter(isSystem).flatMap(({ parts }) => parts);
  const input = request.filter((message) => !isSystem(message));
  if (system.length > 0) attributes[names.ATTR_GEN_AI_SYSTEM_INSTRUCTIONS] = json(system);
  if (input.length > 0) attributes[names.ATTR_GEN_AI_INPUT_MESSAGES] = json(input);
  if (tools !== undefined) attributes[names.ATTR_GEN_AI_TOOL_DEFINITIONS] = json(tools);
  return attributes;
}

/** What the model said. */
export function responseContent(response: ModelResponse): Attributes {
  const messages = response.messages();
  if (messages.length === 0) return {};
  const output = messages.map(({ role, parts, finishReason }) => ({
    role,
    parts,
    finish_reason: standardFinishReason(finishReason),
  }));
  return { [names.ATTR_GEN_AI_OUTPUT_MESSAGES]: json(output) };
}

function json(value: unknown): string {
  return boundedJson(value, MAX_CONTENT_CHARS);
}

/** The words of semconv's output messages for those of the providers; other words stand as they are. */
const FINISH_REASON: Readonly<Record<string, string>> = {
  tool_calls: 'tool_call',
  function_call: 'tool_call',
  tool_use: 'tool_call',
  end_turn: 'stop',
  stop_sequence: 'stop',
  completed: 'stop',
  max_tokens: 'length',
  max_output_tokens: 'length',
  refusal: 'content_filter',
  safety: 'content_filter',
  failed: 'error',
};

function standardFinishReason(reason: string | undefined): string | undefined {
  const word = reason?.toLowerCase();
  return word === undefined ? undefined : (FINISH_REASON[word] ?? word);
}
