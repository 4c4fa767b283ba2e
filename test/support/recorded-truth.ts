/**
 * What a recorded answer says, by the rules of each provider's documentation and without any code under test: the
 * oracle that every way of reading an answer is compared with.
 */
import { priceUsage, type TokenUsage } from '../../src/signals/index.ts';
import { type Exchange, type Json, sseEvents } from './recordings.ts';

/** What one way of reading says of an answer; the same fields for each of them. */
export interface Said {
  readonly model?: string | undefined;
  readonly id?: string | undefined;
  readonly usage?: TokenUsage | undefined;
  readonly costUsd?: number | undefined;
  readonly text: string;
  readonly reasoning: string;
  /** Calls the application is asked to make; tools that the provider runs are none. */
  readonly calls: readonly {
    readonly id?: string | undefined;
    readonly name: string;
    readonly arguments: unknown;
  }[];
  /** One per choice, in the provider's words. */
  readonly finishReasons: readonly string[];
  /** The provider's code of an error. */
  readonly error?: string | undefined;
}

const NOTHING: Said = { text: '', reasoning: '', calls: [], finishReasons: [] };

/** @param exchange with an answer in the form of its API, whole or streamed. */
export function truthOf({ provider, api, response }: Pick<Exchange, 'provider' | 'api' | 'response'>): Said {
  const documents = response.sse === undefined ? [response.body as Json] : sseEvents(response.sse);
  if (response.status >= 400) return { ...NOTHING, error: errorOf(provider, response.status, documents[0]) };
  if (provider === 'gemini') return gemini(documents);
  if (provider === 'anthropic') return anthropic(documents, response.sse !== undefined);
  return api === 'responses' ? responses(documents) : chat(documents, response.sse !== undefined);
}

function errorOf(provider: Exchange['provider'], status: number, body: Json): string {
  const error = (Array.isArray(body) ? body[0] : body)?.error;
  if (provider === 'openai') return error?.code ?? error?.type ?? String(status);
  return (provider === 'anthropic' ? error?.type : error?.status) ?? String(status);
}

function priced(
  provider: string,
  model: string | undefined,
  usage: TokenUsage | undefined,
  serviceTier?: string,
): number | undefined {
  return priceUsage({ provider, model, usage, serviceTier, at: new Date() }).costUsd;
}

function chat(documents: Json[], streamed: boolean): Said {
  const choices = documents.flatMap((document) => document.choices ?? []);
  const first = choices.filter((choice: Json) => (choice.index ?? 0) === 0);
  const counts = documents.map((document) => document.usage).findLast(Boolean);
  const messages: Json[] = first.map((choice: Json) => (streamed ? choice.delta : choice.message));
  const calls: { id: string; name: string; text: string }[] = [];
  for (const message of messages) {
    for (const [at, piece] of (message.tool_calls ?? []).entries()) {
      calls[piece.index ?? at] ??= { id: piece.id, name: piece.function.name, text: '' };
      (calls[piece.index ?? at] as { text: string }).text += piece.function.arguments ?? '';
    }
  }
  const usage = counts && {
    inputTokens: counts.prompt_tokens,
    outputTokens: counts.completion_tokens,
    cacheReadTokens: counts.prompt_tokens_details?.cached_tokens,
    cacheWriteTokens: counts.prompt_tokens_details?.cache_write_tokens,
    reasoningTokens: counts.completion_tokens_details?.reasoning_tokens,
    inputAudioTokens: counts.prompt_tokens_details?.audio_tokens || undefined,
    outputAudioTokens: counts.completion_tokens_details?.audio_tokens || undefined,
  };
  const model = documents[0].model;
  const tier = documents.map((document) => document.service_tier).findLast(Boolean);
  return {
    model,
    id: documents[0].id,
    usage,
    costUsd: counts?.cost ?? priced('openai', model, usage, tier),
    text: messages.map((message) => message.content ?? message.refusal ?? '').join(''),
    reasoning: messages.map((message) => message.reasoning_content ?? message.reasoning ?? '').join(''),
    calls: calls.map(({ id, name, text }) => ({ id, name, arguments: JSON.parse(text || '{}') })),
    finishReasons: choices.map((choice: Json) => choice.finish_reason).filter(Boolean),
  };
}

function responses(documents: Json[]): Said {
  const response = documents.findLast((document) => document.object === 'response' || document.response);
  const { output, usage: counts, ...whole } = response.response ?? response;
  const calls = output.filter(({ type }: Json) => ['function_call', 'custom_tool_call'].includes(type));
  const texts = (type: string, field: string): string[] =>
    output
      .filter((item: Json) => item.type === type)
      .flatMap((item: Json) => (item[field] ?? []).map((part: Json) => part.text ?? part.refusal));
  const usage = counts && {
    inputTokens: counts.input_tokens,
    outputTokens: counts.output_tokens,
    cacheReadTokens: counts.input_tokens_details?.cached_tokens,
    cacheWriteTokens: counts.input_tokens_details?.cache_write_tokens,
    reasoningTokens: counts.output_tokens_details?.reasoning_tokens,
  };
  // The API has no finish reason: the words of the semantic conventions are used for its status.
  const words: Record<string, string> = {
    completed: calls.length > 0 ? 'tool_call' : 'stop',
    failed: 'error',
  };
  const cut = whole.incomplete_details?.reason;
  return {
    model: whole.model,
    id: whole.id,
    usage,
    costUsd: priced('openai', whole.model, usage, whole.service_tier),
    text: texts('message', 'content').join(''),
    reasoning: [...texts('reasoning', 'summary'), ...texts('reasoning', 'content')].join(''),
    calls: calls.map((call: Json) => ({
      id: call.call_id,
      name: call.name,
      arguments: call.type === 'custom_tool_call' ? call.input : JSON.parse(call.arguments),
    })),
    finishReasons: [cut === 'max_output_tokens' ? 'length' : (cut ?? words[whole.status] ?? whole.status)],
    error: whole.status === 'failed' ? (whole.error?.code ?? 'failed') : undefined,
  };
}

function anthropic(documents: Json[], streamed: boolean): Said {
  const message = streamed ? documents.find(({ type }) => type === 'message_start').message : documents[0];
  const last = documents.findLast(({ type }) => type === 'message_delta');
  const counts = { ...message.usage };
  if (streamed) {
    // The counts of the output in message_start are placeholders, those of message_delta are totals.
    counts.output_tokens = undefined;
    for (const [name, count] of Object.entries(last?.usage ?? {})) if (count !== null) counts[name] = count;
  }
  const read = counts.cache_read_input_tokens ?? undefined;
  const written = counts.cache_creation_input_tokens ?? undefined;
  const usage: TokenUsage = {
    inputTokens: counts.input_tokens + (read ?? 0) + (written ?? 0),
    outputTokens: counts.output_tokens,
    cacheReadTokens: read,
    cacheWriteTokens: written,
    cacheWrite1hTokens: counts.cache_creation?.ephemeral_1h_input_tokens,
    reasoningTokens: counts.output_tokens_details?.thinking_tokens,
    webSearches: counts.server_tool_use?.web_search_requests || undefined,
  };
  const blocks = streamed ? streamedBlocks(documents) : message.content;
  const reason = streamed ? last?.delta.stop_reason : message.stop_reason;
  const words = (type: string, field: string): string =>
    blocks.map((block: Json) => (block.type === type ? block[field] : '')).join('');
  return {
    model: message.model,
    id: message.id,
    usage,
    costUsd: priced('anthropic', message.model, usage, counts.service_tier),
    text: words('text', 'text'),
    reasoning: words('thinking', 'thinking'),
    calls: blocks
      .filter(({ type }: Json) => type === 'tool_use')
      .map(({ id, name, input }: Json) => ({ id, name, arguments: input })),
    finishReasons: reason === undefined || reason === null ? [] : [reason],
    error: documents.find(({ type }) => type === 'error')?.error.type,
  };
}

function streamedBlocks(documents: Json[]): Json[] {
  const blocks: Json[] = [];
  for (const { type, index, content_block: opened, delta } of documents) {
    if (type === 'content_block_start') blocks[index] = { ...opened, json: '' };
    if (type !== 'content_block_delta') continue;
    if (delta.type === 'text_delta') blocks[index].text += delta.text;
    if (delta.type === 'thinking_delta') blocks[index].thinking += delta.thinking;
    if (delta.type === 'input_json_delta') blocks[index].json += delta.partial_json;
  }
  return blocks.map((block) => (block.json === '' ? block : { ...block, input: JSON.parse(block.json) }));
}

function gemini(documents: Json[]): Said {
  const counts = Object.assign({}, ...documents.map(({ usageMetadata }) => usageMetadata ?? {}));
  const candidates = documents.flatMap((document) => document.candidates ?? []);
  const parts: Json[] = candidates
    .filter(({ index = 0 }: Json) => index === 0)
    .flatMap((candidate: Json) => candidate.content?.parts ?? []);
  // Some streams give the reason with each chunk.
  const reasons = new Map<number, string>();
  for (const { index = 0, finishReason } of candidates) if (finishReason) reasons.set(index, finishReason);
  const sum = (a?: number, b?: number) =>
    a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
  const usage: TokenUsage = {
    inputTokens: sum(counts.promptTokenCount, counts.toolUsePromptTokenCount),
    outputTokens: sum(counts.candidatesTokenCount, counts.thoughtsTokenCount),
    cacheReadTokens: counts.cachedContentTokenCount,
    reasoningTokens: counts.thoughtsTokenCount,
    webSearches:
      candidates.flatMap(({ groundingMetadata }: Json) => groundingMetadata?.webSearchQueries ?? []).length ||
      undefined,
  };
  const words = (isThought: boolean): string =>
    parts.map(({ text, thought }) => ((thought === true) === isThought ? (text ?? '') : '')).join('');
  const model = documents[0].modelVersion;
  return {
    model,
    id: documents[0].responseId,
    usage,
    costUsd: priced('gcp.gemini', model, usage),
    text: words(false),
    reasoning: words(true),
    calls: geminiCalls(parts),
    finishReasons: [...reasons.values()],
  };
}

/** A call whose arguments are streamed comes in pieces: the first one has the name, the others values by path. */
function geminiCalls(parts: Json[]): { id?: string; name: string; arguments: unknown }[] {
  const calls: { id?: string; name: string; arguments: Json }[] = [];
  for (const { functionCall: call } of parts) {
    if (call?.name !== undefined) calls.push({ id: call.id, name: call.name, arguments: { ...call.args } });
    const args = calls.at(-1)?.arguments;
    for (const { jsonPath, stringValue } of call?.partialArgs ?? []) {
      // The recorded pieces are all strings one level deep.
      const [, name = assert(jsonPath)] = /^\$\.(\w+)$/.exec(jsonPath) ?? [];
      args[name] = (args[name] ?? '') + (stringValue ?? assert(jsonPath));
    }
  }
  return calls;
}

function assert(path: string): never {
  throw new Error(`The oracle does not know the piece ${path}`);
}
