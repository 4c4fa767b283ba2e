import type { TokenUsage } from '../../signals/index.ts';
import type { StoredTurn } from './stored-run.ts';
import { callsOf, textOf } from './turn-parts.ts';

type Event = { readonly type: string; readonly [field: string]: unknown };

/** A turn as the Messages API streams it. Reasoning is left out: its signature is not in the trace. */
export function anthropicEvents(turn: StoredTurn, index: number): string[] {
  const text = textOf(turn);
  const blocks: { readonly opened: object; readonly delta: object }[] = [
    ...(text === '' ? [] : [{ opened: { type: 'text', text: '' }, delta: { type: 'text_delta', text } }]),
    ...callsOf(turn).map(({ id, name, argumentsText }) => ({
      opened: { type: 'tool_use', id, name, input: {} },
      delta: { type: 'input_json_delta', partial_json: argumentsText },
    })),
  ];
  const { input, output_tokens } = usageOf(turn.usage);
  const events: Event[] = [
    {
      type: 'message_start',
      message: {
        id: turn.responseId ?? `msg_trace_${index}`,
        type: 'message',
        role: 'assistant',
        model: turn.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...input, output_tokens: 1 },
      },
    },
    ...blocks.flatMap(({ opened, delta }, at): Event[] => [
      { type: 'content_block_start', index: at, content_block: opened },
      { type: 'content_block_delta', index: at, delta },
      { type: 'content_block_stop', index: at },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: turn.finishReason ?? 'end_turn', stop_sequence: null },
      usage: { output_tokens },
    },
    { type: 'message_stop' },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

/** Anthropic counts what went through the cache apart from its input tokens. */
function usageOf({
  inputTokens = 0,
  outputTokens = 0,
  cacheReadTokens = 0,
  cacheWriteTokens = 0,
}: TokenUsage = {}) {
  return {
    input: {
      input_tokens: inputTokens - cacheReadTokens - cacheWriteTokens,
      cache_read_input_tokens: cacheReadTokens,
      cache_creation_input_tokens: cacheWriteTokens,
    },
    output_tokens: outputTokens,
  };
}
