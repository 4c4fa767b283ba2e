import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionMessage,
} from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import type { TokenUsage } from '../../signals/index.ts';
import type { AnswerDelta, AssistantPart, FinishReason } from '../../wire/index.ts';
import { parseArguments } from '../../wire/index.ts';
import type { ParsedResponse } from './send.ts';

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  length: 'length',
  content_filter: 'content_filter',
};

type WithReasoning = { readonly reasoning_content?: string | null; readonly reasoning?: string | null };

/** Reads an answer of Chat Completions: its first choice. */
export function fromOpenAIResponse(response: ChatCompletion): ParsedResponse {
  const choice = response.choices?.[0];
  const message: Partial<ChatCompletionMessage> & WithReasoning = choice?.message ?? {};
  const parts: AssistantPart[] = [];
  const reasoning = message.reasoning_content ?? message.reasoning;
  if (typeof reasoning === 'string' && reasoning !== '') {
    parts.push({ type: 'reasoning', text: reasoning, provider: 'openai', raw: reasoning });
  }
  if (typeof message.content === 'string' && message.content !== '') {
    parts.push({ type: 'text', text: message.content });
  }
  if (typeof message.refusal === 'string' && message.refusal !== '') {
    parts.push({ type: 'text', text: message.refusal });
  }
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    const [name, text] =
      call.type === 'custom'
        ? [call.custom.name, call.custom.input]
        : [call.function.name, call.function.arguments];
    // Some compatible servers send calls without an id.
    const id = call.id || `call_${index}_${response.id}`;
    parts.push({ type: 'tool_call', id, name, ...parseArguments(text) });
  }
  const raw = choice?.finish_reason ?? undefined;
  const called = parts.some((part) => part.type === 'tool_call');
  const refused = Boolean(message.refusal) && raw === 'stop';
  return {
    message: { role: 'assistant', parts },
    // Some compatible servers say `stop` beside tool calls.
    finishReason: refused ? 'content_filter' : called && raw === 'stop' ? 'tool_calls' : finishReason(raw),
    rawFinishReason: raw,
    usage: openAIUsage(response.usage),
    model: response.model,
    responseId: response.id,
  };
}

function finishReason(raw: string | undefined): FinishReason {
  return (raw === undefined ? undefined : FINISH_REASONS[raw]) ?? 'other';
}

/** Chat Completions counts cached tokens into the prompt and reasoning into the completion, as semconv does. */
export function openAIUsage(usage: CompletionUsage | null | undefined): TokenUsage | undefined {
  if (usage === undefined || usage === null) return undefined;
  const prompt = usage.prompt_tokens_details as
    | { cached_tokens?: number; cache_write_tokens?: number }
    | undefined;
  return {
    inputTokens: usage.prompt_tokens,
    outputTokens: usage.completion_tokens,
    cacheReadTokens: prompt?.cached_tokens,
    cacheWriteTokens: prompt?.cache_write_tokens,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens,
  };
}

interface CallInProgress {
  id: string;
  name: string;
  readonly argumentPieces: string[];
}

/** Puts the chunks of a stream together into the answer a call without streaming would have given. */
export class OpenAIStream {
  readonly #text: string[] = [];
  readonly #refusal: string[] = [];
  readonly #reasoning: string[] = [];
  readonly #calls = new Map<number, CallInProgress>();
  #id = '';
  #model = '';
  #created = 0;
  #finishReason: string | undefined;
  #usage: CompletionUsage | undefined;

  /** @returns what the chunk adds to the visible answer. */
  push(chunk: ChatCompletionChunk): AnswerDelta[] {
    this.#id ||= chunk.id ?? '';
    this.#model ||= chunk.model ?? '';
    this.#created ||= chunk.created ?? 0;
    this.#usage = chunk.usage ?? this.#usage;
    const choice = chunk.choices?.find((candidate) => candidate.index === 0);
    if (choice === undefined) return [];
    this.#finishReason = choice.finish_reason ?? this.#finishReason;
    const delta: ChatCompletionChunk.Choice.Delta & WithReasoning = choice.delta ?? {};
    const deltas: AnswerDelta[] = [];
    const reasoning = delta.reasoning_content ?? delta.reasoning;
    if (reasoning) {
      this.#reasoning.push(reasoning);
      deltas.push({ type: 'reasoning', text: reasoning });
    }
    if (delta.content) {
      this.#text.push(delta.content);
      deltas.push({ type: 'text', text: delta.content });
    }
    if (delta.refusal) this.#refusal.push(delta.refusal);
    for (const call of delta.tool_calls ?? []) this.#pushCall(call);
    return deltas;
  }

  #pushCall(piece: ChatCompletionChunk.Choice.Delta.ToolCall): void {
    // Some compatible servers leave the index out and send each call whole.
    const index = piece.index ?? this.#calls.size;
    let call = this.#calls.get(index);
    if (call === undefined) {
      call = { id: '', name: '', argumentPieces: [] };
      this.#calls.set(index, call);
    }
    call.id ||= piece.id ?? '';
    call.name ||= piece.function?.name ?? '';
    if (piece.function?.arguments) call.argumentPieces.push(piece.function.arguments);
  }

  /** True once the model said why it stopped; a stream that ends before was cut. */
  get isComplete(): boolean {
    return this.#finishReason !== undefined;
  }

  toResponse(): ChatCompletion {
    const calls = [...this.#calls.entries()].sort(([left], [right]) => left - right);
    const reasoning = this.#reasoning.join('');
    const message: ChatCompletionMessage & WithReasoning = {
      role: 'assistant',
      content: this.#text.length === 0 ? null : this.#text.join(''),
      refusal: this.#refusal.length === 0 ? null : this.#refusal.join(''),
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...(calls.length === 0
        ? {}
        : {
            tool_calls: calls.map(([, call]) => ({
              id: call.id,
              type: 'function' as const,
              function: { name: call.name, arguments: call.argumentPieces.join('') },
            })),
          }),
    };
    return {
      id: this.#id,
      object: 'chat.completion',
      created: this.#created,
      model: this.#model,
      choices: [
        {
          index: 0,
          message,
          logprobs: null,
          finish_reason: (this.#finishReason ?? 'stop') as ChatCompletion.Choice['finish_reason'],
        },
      ],
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
    };
  }
}
