/** Recorded provider exchanges, and what each one says, read without any code of ours or of the SDKs. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Exchange {
  readonly id: string;
  readonly provider: 'openai' | 'anthropic' | 'gemini';
  readonly api: string;
  readonly model: string | null;
  readonly recorded?: boolean;
  readonly request: { readonly path: string; readonly body: Record<string, unknown> } | null;
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly sse?: string;
  };
}

const FILES = ['openai', 'anthropic', 'gemini', 'errors'] as const;
const DATA = process.env.OBSERVATORY_DATA ?? '../shared/data';

/** Every exchange of every file; nothing where the data is not there. */
export function readCassettes(): Exchange[] | undefined {
  const folder = join(DATA, 'cassettes');
  if (!existsSync(folder)) return undefined;
  return FILES.flatMap((file) =>
    readFileSync(join(folder, `${file}.jsonl`), 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line) as Exchange),
  );
}

/** The data of each event of an event stream, parsed; `[DONE]` left out. */
export function readEvents(stream: string): Json[] {
  const events: Json[] = [];
  for (const block of stream.replaceAll('\r\n', '\n').split('\n\n')) {
    const data = block
      .split('\n')
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice('data:'.length).trim())
      .join('\n');
    if (data !== '' && data !== '[DONE]') events.push(JSON.parse(data) as Json);
  }
  return events;
}

// biome-ignore lint/suspicious/noExplicitAny: recordings have any shape; a wrong guess fails the test
export type Json = any;

export interface Expected {
  readonly model?: string | undefined;
  readonly id?: string | undefined;
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly cached?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly reasoning?: number | undefined;
  readonly finishReasons: readonly string[];
  readonly toolCalls: number;
  readonly errorType?: string | undefined;
}

/** What a recording says, by the rules of each provider's documentation. */
export function expectedOf({ provider, api, response }: Exchange): Expected {
  const documents = response.sse === undefined ? [response.body as Json] : readEvents(response.sse);
  if (response.status >= 400) {
    return {
      finishReasons: [],
      toolCalls: 0,
      errorType: errorTypeOf(provider, response.status, documents[0]),
    };
  }
  if (provider === 'gemini') return geminiExpected(documents);
  if (provider === 'anthropic') return anthropicExpected(documents, response.sse !== undefined);
  if (api === 'responses') return responsesExpected(documents, response.sse !== undefined);
  return chatExpected(documents, response.sse !== undefined);
}

function errorTypeOf(provider: Exchange['provider'], status: number, body: Json): string {
  const error = body.error;
  if (provider === 'openai') return error.code ?? error.type;
  if (provider === 'anthropic') return error.type;
  return error.status ?? String(status);
}

function chatExpected(documents: Json[], streamed: boolean): Expected {
  const choices = documents.flatMap((document) => document.choices ?? []);
  const usage = documents.map((document) => document.usage).findLast(Boolean);
  const calls = streamed
    ? new Set(
        choices.flatMap((choice: Json) =>
          (choice.delta.tool_calls ?? []).map((call: Json) => `${choice.index}/${call.index}`),
        ),
      ).size
    : choices.flatMap((choice: Json) => choice.message.tool_calls ?? []).length;
  return {
    model: documents[0].model,
    id: documents[0].id,
    input: usage?.prompt_tokens,
    output: usage?.completion_tokens,
    cached: usage?.prompt_tokens_details?.cached_tokens,
    cacheWrite: usage?.prompt_tokens_details?.cache_write_tokens,
    reasoning: usage?.completion_tokens_details?.reasoning_tokens,
    finishReasons: choices.map((choice: Json) => choice.finish_reason).filter(Boolean),
    toolCalls: calls,
  };
}

function responsesExpected(documents: Json[], streamed: boolean): Expected {
  const response = streamed
    ? documents.findLast((event) => event.type.startsWith('response.') && event.response).response
    : documents[0];
  const calls = response.output.filter((item: Json) =>
    ['function_call', 'custom_tool_call'].includes(item.type),
  ).length;
  // The API has no finish reason: the conventions' words stand for its status.
  const words: Record<string, string> = { completed: calls > 0 ? 'tool_call' : 'stop', failed: 'error' };
  const cut = response.incomplete_details?.reason;
  const reason = cut === 'max_output_tokens' ? 'length' : (cut ?? words[response.status] ?? response.status);
  return {
    model: response.model,
    id: response.id,
    input: response.usage?.input_tokens,
    output: response.usage?.output_tokens,
    cached: response.usage?.input_tokens_details?.cached_tokens,
    cacheWrite: response.usage?.input_tokens_details?.cache_write_tokens,
    reasoning: response.usage?.output_tokens_details?.reasoning_tokens,
    finishReasons: [reason],
    toolCalls: calls,
  };
}

function anthropicExpected(documents: Json[], streamed: boolean): Expected {
  const message = streamed ? documents.find(({ type }) => type === 'message_start').message : documents[0];
  const delta = documents.findLast(({ type }) => type === 'message_delta');
  const failure = documents.find(({ type }) => type === 'error');
  const usage = { ...message.usage };
  if (streamed) {
    usage.output_tokens = undefined;
    for (const [name, count] of Object.entries(delta?.usage ?? {})) if (count !== null) usage[name] = count;
  }
  const blocks = streamed
    ? documents.filter(({ type }) => type === 'content_block_start').map((event) => event.content_block)
    : message.content;
  const reason = streamed ? delta?.delta.stop_reason : message.stop_reason;
  const read = usage.cache_read_input_tokens ?? 0;
  const written = usage.cache_creation_input_tokens ?? 0;
  return {
    model: message.model,
    id: message.id,
    input: usage.input_tokens + read + written,
    output: usage.output_tokens,
    cached: usage.cache_read_input_tokens ?? undefined,
    cacheWrite: usage.cache_creation_input_tokens ?? undefined,
    reasoning: usage.output_tokens_details?.thinking_tokens,
    finishReasons: reason === undefined || reason === null ? [] : [reason],
    toolCalls: blocks.filter((block: Json) => block.type === 'tool_use').length,
    errorType: failure?.error.type,
  };
}

function geminiExpected(documents: Json[]): Expected {
  const usage = Object.assign({}, ...documents.map((document) => document.usageMetadata ?? {}));
  const candidates = documents.flatMap((document) => document.candidates ?? []);
  const parts = candidates.flatMap((candidate: Json) => candidate.content?.parts ?? []);
  // Some streams give the reason with each chunk.
  const reasons = new Map<number, string>();
  for (const { index = 0, finishReason } of candidates) if (finishReason) reasons.set(index, finishReason);
  const sum = (a?: number, b?: number) =>
    a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
  return {
    model: documents[0].modelVersion,
    id: documents[0].responseId,
    input: sum(usage.promptTokenCount, usage.toolUsePromptTokenCount),
    output: sum(usage.candidatesTokenCount, usage.thoughtsTokenCount),
    cached: usage.cachedContentTokenCount,
    reasoning: usage.thoughtsTokenCount,
    finishReasons: [...reasons.values()],
    // A call whose arguments are streamed comes in pieces; the first one has the name.
    toolCalls: parts.filter((part: Json) => part.functionCall?.name).length,
  };
}
