import { COST_NAMES } from '../base/index.ts';
import {
  isObject,
  type JsonObject,
  parseContainerOrKeep,
  readList,
  readObject,
  toText,
} from '../json/index.ts';
import { readReportedCost, readUsageObject, type TokenUsage } from '../signals/index.ts';
import { type Answer, readAnyAnswer } from '../wire/index.ts';
import { outputMessages, type RequestedToolCall, toolCallsOfAnswer } from './answer.ts';
import { answerText } from './messages.ts';
import { toolResultText } from './tool-outcome.ts';

/** What a provider's result object says. A field is absent where the object does not tell. */
export interface ProviderResponse {
  /** In the words of the semantic conventions; absent for forms that several providers share. */
  readonly provider?: string | undefined;
  /** Text of the first choice, without reasoning. */
  readonly answer?: string | undefined;
  readonly model?: string | undefined;
  readonly responseId?: string | undefined;
  /** One per choice, in the provider's own words. */
  readonly finishReasons?: readonly string[] | undefined;
  /** In the sense of the semantic conventions, whatever the provider counts. */
  readonly usage?: TokenUsage | undefined;
  /** Tier that served the call, in the provider's words. */
  readonly serviceTier?: string | undefined;
  /** Cost the provider reported, in US dollars. */
  readonly costUsd?: number | undefined;
  readonly toolCalls: readonly RequestedToolCall[];
}

const NOTHING: ProviderResponse = Object.freeze({ toolCalls: [] });

/**
 * Reads the result of a model call: OpenAI Chat Completions and Responses, Anthropic Messages, Gemini
 * `generateContent` and interactions, Bedrock's Converse and `InvokeModel`, bare text, or an object that carries its text as `text`, `content`, `output` or `message`.
 *
 * Never throws, not even when a getter of the object does; what is not recognized gives no fields and no tool calls.
 */
export function readProviderResponse(value: unknown): ProviderResponse {
  if (typeof value === 'string') return { answer: value, toolCalls: [] };
  if (!isObject(value)) return NOTHING;
  try {
    const answer = readAnyAnswer(value);
    return answer === undefined ? readPlain(value) : toResponse(answer);
  } catch {
    return NOTHING;
  }
}

function toResponse(answer: Answer): ProviderResponse {
  const messages = outputMessages(answer);
  return {
    provider: answer.provider,
    answer: answerText(messages),
    model: answer.model,
    responseId: answer.id,
    finishReasons: answer.finishReasons.length === 0 ? undefined : answer.finishReasons,
    usage: answer.usage,
    serviceTier: answer.serviceTier,
    costUsd: answer.costUsd,
    toolCalls: toolCallsOfAnswer(answer),
  };
}

/** How deep `{message: {content: ...}}` may nest. */
const MAX_DEPTH = 4;

/**
 * Any object that carries its text as `text`, `content`, `output` or `message`, asked in this order: results of
 * application code, of the AI SDK (`{text, usage, finishReason, response}`), of MCP tools (`{content: [...]}`).
 */
function readPlain(value: JsonObject): ProviderResponse {
  const response = readObject(value.response);
  const finishReason = toText(value.finishReason ?? value.finish_reason);
  return {
    answer: readText(value, MAX_DEPTH),
    model: toText(value.model ?? response.modelId),
    responseId: toText(value.id ?? response.id),
    finishReasons: finishReason === undefined ? undefined : [finishReason],
    usage: readUsageObject(value.usage),
    costUsd: readReportedCost(value.usage, value),
    toolCalls: [],
  };
}

function readText(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value;
  if (depth === 0 || !isObject(value)) return undefined;
  for (const field of TEXT_FIELDS) {
    const inner = value[field];
    if (inner === undefined || inner === null) continue;
    const text = Array.isArray(inner) ? toolResultText(inner) : readText(inner, depth - 1);
    if (text !== undefined) return text;
  }
  return undefined;
}

const TEXT_FIELDS = ['text', 'content', 'output', 'message'] as const;

/** Longer JSON is not read, or its end alone. */
const MAX_CHARS = 65_536;

/** The tier in the JSON of an answer, or of a request's parameters; in a text within that the quotes are escaped. */
export function tierInText(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return undefined;
  return /"service_tier": ?"(\w{1,40})"/.exec(value.slice(-MAX_CHARS))?.[1];
}

/** What a provider's answer says of its price beside tokens: of tools that it ran itself, or the cost. */
export function chargesInText(value: unknown): Pick<ProviderResponse, 'usage' | 'costUsd'> | undefined {
  if (typeof value !== 'string' || value.length > MAX_CHARS) return undefined;
  if (![OWN_TOOLS, GOOGLE_SEARCH, COST].some((sign) => sign.test(value))) return undefined;
  return readAnyAnswer(parseContainerOrKeep(value));
}

/** Items of OpenAI, what it cites, and a count of Anthropic. Long texts have few underscores, so that this takes no time. */
const OWN_TOOLS = /_(?:(?<!function_)call|citation|tool_use)"/;
const GOOGLE_SEARCH = /webSearchQueries"/;
const COST = new RegExp(
  `"(?:${COST_NAMES.flatMap(({ on, name }) => (on === 'json' ? [name] : [])).join('|')})":`,
);

/** What the output of a span tells of the call that it is of. */
export interface ToldInOutput {
  readonly usage: JsonObject;
  /** What holds it. */
  readonly whole: JsonObject;
  readonly model?: string | undefined;
}

/**
 * The usage of the answer in a span's output: of a provider's own answer, or of what Haystack makes of it, in which each
 * reply has what the provider told of all (`meta`). Undefined where several differ.
 */
export function usageInText(value: unknown): ToldInOutput | undefined {
  if (typeof value !== 'string' || value.length > MAX_CHARS || !/usage/i.test(value)) return undefined;
  const output = readObject(parseContainerOrKeep(value));
  const replies = readList(output.replies).map((reply) => readObject(reply).meta);
  const told = [output, ...[output.meta].flat(), ...replies].filter(isObject).flatMap((whole) => {
    const usage = [whole.usage, whole.usageMetadata].find(isObject);
    return usage === undefined ? [] : [{ usage, whole, model: toText(whole.model ?? whole.modelVersion) }];
  });
  const [first] = told;
  return told.every(({ usage }) => JSON.stringify(usage) === JSON.stringify(first?.usage))
    ? first
    : undefined;
}
