import {
  type Message,
  outputMessages,
  parseRequest,
  type RequestedToolCall,
} from '../../interaction/index.ts';
import { isObject } from '../../json/index.ts';
import { priceUsage, type TokenUsage } from '../../signals/index.ts';
import { type Answer, apiOfPath, errorWord, openAiChat, type WireApi } from '../../wire/index.ts';
import type { ExchangeUsage, Golden, ProviderExchange, WireResponse } from './format.ts';

/** The content of one exchange, independent of the provider. */
export interface ExchangeStory {
  /** Messages of the request, system messages first. */
  readonly request: readonly Message[];
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly RequestedToolCall[];
  readonly finishReason: string | undefined;
  /** Whether the answer is marked as a refusal apart from the finish reason (OpenAI's `refusal`). */
  readonly refused: boolean;
  /** The model that answered, else the requested one. */
  readonly model: string | undefined;
  readonly usage: TokenUsage | undefined;
  /** Why the answer is missing or incomplete. */
  readonly failure: ExchangeFailure | undefined;
}

interface ExchangeFailure {
  /** `http_429`, `no_answer`, `cut`, or the provider's code for an error inside an answer. */
  readonly kind: string;
  readonly message: string;
}

/** Reads an exchange. Never throws; unknown content is left out. */
export function readExchange({ request, response }: ProviderExchange): ExchangeStory {
  const said = readAnswer(request.path, response);
  const [message] = said === undefined ? [] : outputMessages(said);
  const parts = message?.parts ?? [];
  const words = (type: 'text' | 'reasoning'): string =>
    parts.map((part) => (part.type === type ? part.content : '')).join('');
  return {
    request: parseRequest(request.body),
    text: words('text'),
    reasoning: words('reasoning'),
    calls: parts.filter((part) => part.type === 'tool_call'),
    finishReason: said?.finishReasons[0],
    refused: said?.choices()[0]?.parts.some((part) => part.type === 'text' && part.isRefusal) === true,
    model: said?.model ?? askedModel(request.path, request.body),
    usage: said?.usage,
    failure: findFailure(request.path, response, said),
  };
}

/** Whether the provider took no request, which then has no tokens and costs nothing. */
export function isRefused({ failure }: ExchangeStory): boolean {
  return failure?.kind.startsWith('http_') === true;
}

/** What an exchange cost at the prices of when it was recorded; undefined if its model has none. */
export function exchangeCost(golden: Golden, { usage, model }: ExchangeStory): number | undefined {
  const at = golden.recorded_at === null ? new Date() : new Date(golden.recorded_at);
  return priceUsage({ usage, model, provider: golden.input.provider, at }).costUsd;
}

/** The API of a path. Unknown paths count as Chat Completions, which most servers imitate. */
function apiAt(path: string): WireApi {
  return apiOfPath(path) ?? openAiChat;
}

/** Reads the answer to a request, whole or streamed; undefined for an error response. */
export function readAnswer(path: string, { body, events, status }: WireResponse): Answer | undefined {
  if (status >= 400) return undefined;
  const api = apiAt(path);
  if (events === undefined) return api.readAnswer(body);
  const stream = api.newStream();
  for (const event of events) if ('data' in event) stream.push(event.data);
  return api.readAnswer(stream.whole());
}

function findFailure(
  path: string,
  response: WireResponse,
  said: Answer | undefined,
): ExchangeFailure | undefined {
  if (response.error !== undefined) {
    const { code, message } = response.error;
    return { kind: 'no_answer', message: code === null ? message : `${code}: ${message}` };
  }
  if (response.status >= 400) {
    const message = apiAt(path).readError(response.body)?.message ?? response.text ?? '';
    return { kind: `http_${response.status}`, message };
  }
  if (response.cut !== undefined) {
    return {
      kind: 'cut',
      message: `The connection broke before the answer was whole: ${response.cut.message}`,
    };
  }
  if (said?.error === undefined) return undefined;
  return { kind: errorWord(said.error), message: said.error.message ?? 'The answer reports an error' };
}

/** OpenAI and Anthropic name the model in the body, Gemini in the path. */
export function askedModel(path: string, body: unknown): string | undefined {
  if (isObject(body) && typeof body.model === 'string') return body.model;
  return /\/models\/([^/:?]{1,200}):/.exec(path)?.[1];
}

/** Tokens of an exchange; null if the provider reported none. */
export function exchangeUsage({ inputTokens, outputTokens }: TokenUsage = {}): ExchangeUsage | null {
  if (inputTokens === undefined && outputTokens === undefined) return null;
  return {
    prompt_tokens: inputTokens ?? null,
    completion_tokens: outputTokens ?? null,
    total_tokens: (inputTokens ?? 0) + (outputTokens ?? 0),
  };
}
