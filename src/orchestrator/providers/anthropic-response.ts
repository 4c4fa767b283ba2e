import type {
  ContentBlock,
  MessageDeltaUsage,
  RawMessageStreamEvent,
  Usage,
  Message as WireMessage,
} from '@anthropic-ai/sdk/resources/messages';
import type { TokenUsage } from '../../signals/index.ts';
import type { AnswerDelta, AssistantPart, FinishReason } from '../../wire/index.ts';
import { checkArguments, parseArguments } from '../../wire/index.ts';
import type { ParsedResponse } from './send.ts';

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'context_length',
  refusal: 'content_filter',
  pause_turn: 'pause',
};

/** Arguments of a streamed call that were no JSON object, kept beside the block, which needs an object. */
const INVALID_INPUT: unique symbol = Symbol('invalid input');
type MaybeInvalid = { [INVALID_INPUT]?: string };

export function fromAnthropicResponse(response: WireMessage): ParsedResponse {
  const raw = response.stop_reason ?? undefined;
  return {
    message: { role: 'assistant', parts: (response.content ?? []).map(toPart) },
    finishReason: (raw === undefined ? undefined : FINISH_REASONS[raw]) ?? 'other',
    rawFinishReason: raw,
    usage: anthropicUsage(response.usage),
    model: response.model,
    responseId: response.id,
  };
}

function toPart(block: ContentBlock): AssistantPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'thinking':
      return { type: 'reasoning', text: block.thinking, provider: 'anthropic', raw: block };
    case 'redacted_thinking':
      return { type: 'reasoning', text: '', provider: 'anthropic', raw: block };
    case 'tool_use': {
      const invalid = (block as MaybeInvalid)[INVALID_INPUT];
      const parsed = invalid === undefined ? checkArguments(block.input) : parseArguments(invalid);
      return { type: 'tool_call', id: block.id, name: block.name, ...parsed };
    }
    default:
      return { type: 'opaque', provider: 'anthropic', raw: block };
  }
}

/**
 * Anthropic counts cached tokens beside the input; semconv's input is the sum of the three.
 * Worked: input 10, cache write 2, cache read 3 is 15 input tokens, 2 of them written to and 3 read from the cache.
 */
export function anthropicUsage(usage: Usage | null | undefined): TokenUsage | undefined {
  if (usage === undefined || usage === null) return undefined;
  const read = usage.cache_read_input_tokens ?? undefined;
  const write = usage.cache_creation_input_tokens ?? undefined;
  return {
    inputTokens: (usage.input_tokens ?? 0) + (read ?? 0) + (write ?? 0),
    outputTokens: usage.output_tokens,
    cacheReadTokens: read,
    cacheWriteTokens: write,
    cacheWrite1hTokens: usage.cache_creation?.ephemeral_1h_input_tokens,
    reasoningTokens: usage.output_tokens_details?.thinking_tokens,
  };
}

interface BlockInProgress {
  readonly block: ContentBlock;
  readonly text: string[];
  readonly signature: string[];
  readonly json: string[];
  readonly citations: unknown[];
}

/** Puts the events of a stream together into the message a call without streaming would have given. */
export class AnthropicStream {
  readonly #blocks: BlockInProgress[] = [];
  #message: WireMessage | undefined;
  #stopped = false;

  /** @returns what the event adds to the visible answer. */
  push(event: RawMessageStreamEvent): AnswerDelta[] {
    switch (event.type) {
      case 'message_start':
        this.#message = { ...event.message };
        return [];
      case 'content_block_start':
        this.#blocks[event.index] = {
          block: event.content_block,
          text: [],
          signature: [],
          json: [],
          citations: [],
        };
        return [];
      case 'content_block_delta':
        return this.#pushDelta(this.#blocks[event.index], event.delta);
      case 'message_delta':
        if (this.#message !== undefined) {
          this.#message.stop_reason = event.delta.stop_reason ?? this.#message.stop_reason;
          this.#message.stop_sequence = event.delta.stop_sequence ?? this.#message.stop_sequence;
          this.#message.usage = mergeUsage(this.#message.usage, event.usage);
        }
        return [];
      case 'message_stop':
        this.#stopped = true;
        return [];
      default:
        return [];
    }
  }

  #pushDelta(
    current: BlockInProgress | undefined,
    delta: Extract<RawMessageStreamEvent, { type: 'content_block_delta' }>['delta'],
  ): AnswerDelta[] {
    if (current === undefined) return [];
    switch (delta.type) {
      case 'text_delta':
        current.text.push(delta.text);
        return [{ type: 'text', text: delta.text }];
      case 'thinking_delta':
        current.text.push(delta.thinking);
        return [{ type: 'reasoning', text: delta.thinking }];
      case 'signature_delta':
        current.signature.push(delta.signature);
        return [];
      case 'input_json_delta':
        current.json.push(delta.partial_json);
        return [];
      case 'citations_delta':
        current.citations.push(delta.citation);
        return [];
      default:
        return [];
    }
  }

  get isComplete(): boolean {
    return this.#stopped && this.#message !== undefined;
  }

  toResponse(): WireMessage {
    if (this.#message === undefined) throw new Error('terminated: the stream held no message');
    return { ...this.#message, content: this.#blocks.filter(Boolean).map(finishBlock) };
  }
}

function finishBlock(current: BlockInProgress): ContentBlock {
  const { block } = current;
  const text = current.text.join('');
  switch (block.type) {
    case 'text':
      return {
        ...block,
        text: block.text + text,
        ...(current.citations.length === 0 ? {} : { citations: current.citations as typeof block.citations }),
      };
    case 'thinking':
      return {
        ...block,
        thinking: block.thinking + text,
        signature: (block.signature ?? '') + current.signature.join(''),
      };
    case 'tool_use':
    case 'server_tool_use':
    // Beta blocks are not in the SDK's plain types.
    case 'mcp_tool_use' as 'server_tool_use': {
      const json = current.json.join('');
      if (json === '') return block;
      const parsed = parseArguments(json);
      const finished: ContentBlock & MaybeInvalid = { ...block, input: parsed.arguments };
      if (parsed.invalidArguments !== undefined) finished[INVALID_INPUT] = json;
      return finished;
    }
    default:
      return block;
  }
}

/** Counts in `message_delta` are running totals and replace those of `message_start`; what it leaves out stays. */
function mergeUsage(start: Usage, delta: MessageDeltaUsage | undefined): Usage {
  const merged: Record<string, unknown> = { ...start };
  for (const [key, value] of Object.entries(delta ?? {})) if (value !== null) merged[key] = value;
  return merged as unknown as Usage;
}
