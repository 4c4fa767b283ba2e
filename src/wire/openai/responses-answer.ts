import {
  firstText,
  isObject,
  type JsonObject,
  listAt,
  readList,
  readObject,
  stringAt,
  toText,
} from '../../json/index.ts';
import { readReportedCost, readUsageObject, type TokenUsage } from '../../signals/index.ts';
import type {
  Answer,
  AssistantPart,
  Choice,
  ErrorReport,
  TextPart,
  ToolCallPart,
} from '../contract/index.ts';
import { checkArguments, readFinishReason } from '../contract/index.ts';
import { readAnswerError } from './error.ts';
import { isOpenAiModel } from './models.ts';

/** Items the application answers; searches and MCP calls are run by OpenAI. */
const CALLS: ReadonlySet<unknown> = new Set(['function_call', 'custom_tool_call']);

/**
 * Reads a `response`. The API has no finish reason of its own, so the words of the semantic conventions are used for
 * its status: `stop`, `tool_call`, `length`, `content_filter`, `error`.
 */
export function readResponsesAnswer(whole: unknown): Answer {
  const value = readObject(whole);
  const items = listAt(value, 'output').filter(isObject);
  const toolCallCount = items.filter((item) => CALLS.has(item.type)).length;
  const model = stringAt(value, 'model') || undefined;
  const reason = readReason(value, toolCallCount > 0);
  return {
    provider: isOpenAiModel(model) ? 'openai' : undefined,
    id: stringAt(value, 'id') || undefined,
    model,
    finishReasons: reason === undefined ? [] : [reason],
    usage: withTools(readUsageObject(value.usage, { model }), items, readList(value.tools)),
    costUsd: readReportedCost(value.usage, value),
    serviceTier: stringAt(value, 'service_tier'),
    toolCallCount,
    error: readError(value),
    choices: () => (items.length === 0 && reason === undefined ? [] : [readChoice(items, reason)]),
  };
}

/** Adds what OpenAI charges apart for tools that it ran itself, which its usage does not count. */
function withTools(
  usage: TokenUsage | undefined,
  items: readonly JsonObject[],
  offered: readonly unknown[],
): TokenUsage | undefined {
  if (usage === undefined) return undefined;
  const searches = items.filter(
    ({ type, action }) => type === 'web_search_call' && (stringAt(action, 'type') ?? 'search') === 'search',
  ).length;
  const files = items.filter(({ type }) => type === 'file_search_call').length;
  const ran = OTHER_TOOLS.filter((tool) => items.some(({ type }) => type === `${tool}_call`));
  const isPreview = offered.some((tool) => stringAt(tool, 'type')?.startsWith(PREVIEW) === true);
  const tools = searches > 0 && isPreview ? [...ran, PREVIEW] : ran;
  return {
    ...usage,
    ...(searches === 0 ? {} : { webSearches: searches }),
    ...(files === 0 ? {} : { fileSearches: files }),
    ...(tools.length === 0 ? {} : { modes: tools.map((tool) => `tool ${tool}`) }),
  };
}

/** The form of the search whose price depends on the model. */
const PREVIEW = 'web_search_preview';

/** Charged by the session, and by the image: an answer does not tell how much. */
const OTHER_TOOLS = ['code_interpreter', 'image_generation'] as const;

/** Why a response ended, by its status; undefined while it is still being made. */
function readReason(response: JsonObject, hasCalls: boolean): string | undefined {
  switch (response.status) {
    case 'completed':
      return hasCalls ? 'tool_call' : 'stop';
    case 'incomplete': {
      const reason = stringAt(response.incomplete_details, 'reason');
      return reason === 'max_output_tokens' ? 'length' : (reason ?? 'incomplete');
    }
    case 'failed':
      return 'error';
    case 'queued':
    case 'in_progress':
      return undefined;
    default:
      return toText(response.status);
  }
}

function readError(response: JsonObject): ErrorReport | undefined {
  const error = readAnswerError(response.error);
  if (error === undefined && response.status !== 'failed') return undefined;
  return { ...error, code: error?.code ?? (response.status === 'failed' ? 'failed' : 'error') };
}

function readChoice(items: readonly JsonObject[], reason: string | undefined): Choice {
  const parts = items.flatMap((item, index) => readItem(item, index));
  const refused = reason === 'stop' && parts.some((part) => part.type === 'text' && part.isRefusal);
  const finishReason = readFinishReason(reason);
  return { parts, finishReason: refused ? 'content_filter' : finishReason, rawFinishReason: reason };
}

function readItem(item: JsonObject, index: number): AssistantPart[] {
  if (CALLS.has(item.type)) return [readCall(item, index)];
  if (item.type === 'message') {
    const phase = toText(item.phase);
    return readList(item.content).flatMap((part) => readText(readObject(part), phase));
  }
  if (item.type === 'reasoning') return readReasoning(item);
  return [{ type: 'opaque', provider: 'openai', raw: item }];
}

function readText({ text, refusal }: JsonObject, phase: string | undefined): TextPart[] {
  const label = phase === undefined ? {} : { phase };
  if (typeof text === 'string') return [{ type: 'text', text, ...label }];
  return typeof refusal === 'string' ? [{ type: 'text', text: refusal, isRefusal: true, ...label }] : [];
}

/**
 * OpenAI shows the paragraphs of a summary, servers of open models the reasoning itself. The first part keeps the item,
 * which goes back whole.
 */
function readReasoning(item: JsonObject): AssistantPart[] {
  const [first = '', ...more] = [...readList(item.summary), ...readList(item.content)]
    .map((part) => stringAt(part, 'text'))
    .filter((text) => text !== undefined);
  return [
    { type: 'reasoning', text: first, provider: 'openai', raw: item },
    ...more.map((text) => ({ type: 'reasoning' as const, text, provider: 'openai', raw: undefined })),
  ];
}

function readCall(item: JsonObject, index: number): ToolCallPart {
  const id = firstText(item.call_id, item.id) || undefined;
  return {
    type: 'tool_call',
    ...(id === undefined ? { id: `call_${index}`, idAssigned: true } : { id }),
    name: toText(item.name) ?? '',
    ...checkArguments(item.arguments ?? item.input),
  };
}
