import {
  firstText,
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  readList,
  readObject,
  stringAt,
  toText,
} from '../../json/index.ts';
import { readReportedCost, readUsageObject, type TokenUsage } from '../../signals/index.ts';
import type { Answer, AssistantPart, Choice, FinishReason, ToolCallPart } from '../contract/index.ts';
import { checkArguments, readFinishReason } from '../contract/index.ts';
import { readAnswerError } from './error.ts';
import { isOpenAiModel } from './models.ts';

/**
 * Reads a `chat.completion`, a legacy `text_completion` or a list of embeddings, as OpenAI, Azure, OpenRouter, Groq,
 * DeepSeek, Mistral, Moonshot, vLLM, Ollama and many more write them.
 */
export function readChatAnswer(whole: unknown): Answer {
  const value = readObject(whole);
  const choices = listAt(value, 'choices').map(readObject);
  const model = stringAt(value, 'model') || undefined;
  const usage = readUsage(value, choices);
  let toolCallCount = 0;
  const finishReasons: string[] = [];
  for (const choice of choices) {
    toolCallCount += readCalls(readObject(choice.message)).length;
    const reason = toText(choice.finish_reason);
    if (reason !== undefined) finishReasons.push(reason);
  }
  return {
    provider: findProvider(value.provider, model),
    id: stringAt(value, 'id') || undefined,
    model,
    finishReasons,
    usage: withSearch(readUsageObject(usage, { model }), model),
    costUsd: readReportedCost(usage, value),
    serviceTier: stringAt(value, 'service_tier'),
    toolCallCount,
    // A router answers with status 200 and an error, mostly in place of choices, when the provider behind it failed.
    error: readAnswerError(value.error) ?? readAnswerError(choices[0]?.error),
    choices: () => choices.map((choice) => readChoice(choice, stringAt(value, 'id') ?? '')),
  };
}

/** These models search before each answer, which is not counted and charged apart. */
function withSearch(usage: TokenUsage | undefined, model: string | undefined): TokenUsage | undefined {
  const searches = usage !== undefined && model !== undefined && /-search-(?:preview|api)/.test(model);
  return searches ? { ...usage, webSearches: 1 } : usage;
}

/** Groq gives a stream that did not ask for usage a place of its own for it, Moonshot puts it in the choice. */
function readUsage(value: JsonObject, choices: readonly JsonObject[]): unknown {
  return (
    objectAt(value, 'usage') ??
    objectAt(value.x_groq, 'usage') ??
    choices.map((choice) => objectAt(choice, 'usage')).find((usage) => usage !== undefined)
  );
}

/** The form is shared, so only a sign of the provider's own names it. */
function findProvider(upstream: unknown, model: string | undefined): string | undefined {
  // OpenRouter names the provider it chose in a field no other has.
  if (typeof upstream === 'string') return 'openrouter';
  return isOpenAiModel(model) ? 'openai' : undefined;
}

function readChoice(choice: JsonObject, answerId: string): Choice {
  const message = objectAt(choice, 'message') ?? { content: choice.text };
  const parts: AssistantPart[] = [];
  const reasoning = readReasoning(message);
  if (reasoning !== '')
    parts.push({ type: 'reasoning', text: reasoning, provider: 'openai', raw: reasoning });
  pushContent(message, parts);
  for (const [index, call] of readCalls(message).entries())
    parts.push(readCall(call, `call_${index}_${answerId}`));
  const raw = toText(choice.finish_reason);
  return { parts, finishReason: toFinishReason(raw, parts), rawFinishReason: raw };
}

/** DeepSeek and vLLM say `reasoning_content`, OpenRouter, Groq and Ollama `reasoning`; Mistral has parts for it. */
function readReasoning(message: JsonObject): string {
  const flat = firstText(message.reasoning_content, message.reasoning);
  return flat ?? readList(message.content).map(thinkingText).join('');
}

/** The text of one of Mistral's `thinking` parts; empty for other parts. */
export function thinkingText(part: unknown): string {
  if (!isObject(part) || part.type !== 'thinking') return '';
  if (typeof part.thinking === 'string') return part.thinking;
  return readList(part.thinking)
    .map((piece) => stringAt(piece, 'text') ?? '')
    .join('');
}

function pushContent(message: JsonObject, parts: AssistantPart[]): void {
  const { content } = message;
  const refusal = toText(message.refusal) ?? '';
  if (typeof content === 'string' && (content !== '' || refusal === '')) {
    parts.push({ type: 'text', text: content });
  }
  for (const part of readList(content)) pushPart(readObject(part), parts);
  if (refusal !== '') parts.push({ type: 'text', text: refusal, isRefusal: true });
  const spoken = stringAt(message.audio, 'transcript');
  if (spoken !== undefined && !parts.some(({ type }) => type === 'text')) {
    parts.push({ type: 'text', text: spoken });
  }
}

function pushPart(part: JsonObject, parts: AssistantPart[]): void {
  if (typeof part.refusal === 'string') parts.push({ type: 'text', text: part.refusal, isRefusal: true });
  else if (typeof part.text === 'string') parts.push({ type: 'text', text: part.text });
}

/** The calls of a message; the functions of old are a single call beside the list. */
function readCalls(message: JsonObject): readonly unknown[] {
  const calls = listAt(message, 'tool_calls').filter(isObject);
  const legacy = objectAt(message, 'function_call');
  return calls.length === 0 && legacy !== undefined ? [{ function: legacy }] : calls;
}

function readCall(call: unknown, assignedId: string): ToolCallPart {
  const called = calledFunction(call);
  const id = stringAt(call, 'id') || undefined;
  return {
    type: 'tool_call',
    // Some compatible servers send calls without an id.
    ...(id === undefined ? { id: assignedId, idAssigned: true } : { id }),
    name: stringAt(called, 'name') ?? '',
    ...checkArguments(called.arguments ?? called.input),
  };
}

/** What a call names: a function, or a custom tool with a text for its input. */
export function calledFunction(call: unknown): JsonObject {
  return objectAt(call, 'function') ?? objectAt(call, 'custom') ?? readObject(call);
}

function toFinishReason(raw: string | undefined, parts: readonly AssistantPart[]): FinishReason {
  const reason = readFinishReason(raw);
  if (reason !== 'stop') return reason;
  if (parts.some((part) => part.type === 'text' && part.isRefusal)) return 'content_filter';
  // Some compatible servers say `stop` beside tool calls.
  return parts.some(({ type }) => type === 'tool_call') ? 'tool_calls' : 'stop';
}
