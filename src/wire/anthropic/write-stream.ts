import type { TokenUsage } from '../../signals/index.ts';
import type { WrittenAnswer } from '../contract/index.ts';

type Event = { readonly type: string; readonly [field: string]: unknown };

/** An answer as the Messages API streams it. */
export function writeMessageStream({ id, model, text, calls, finishReason, usage }: WrittenAnswer): string[] {
  const blocks: { readonly opened: object; readonly delta: object }[] = [
    ...(text === '' ? [] : [{ opened: { type: 'text', text: '' }, delta: { type: 'text_delta', text } }]),
    ...calls.map(({ id, name, argumentsText }) => ({
      opened: { type: 'tool_use', id, name, input: {} },
      delta: { type: 'input_json_delta', partial_json: argumentsText },
    })),
  ];
  const { input, output_tokens } = writeUsage(usage);
  const events: Event[] = [
    {
      type: 'message_start',
      message: {
        id,
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...input, output_tokens: 1 },
      },
    },
    ...blocks.flatMap(({ opened, delta }, index): Event[] => [
      { type: 'content_block_start', index, content_block: opened },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: {
        stop_reason: finishReason ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
        stop_sequence: null,
      },
      usage: { output_tokens },
    },
    { type: 'message_stop' },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

/** Anthropic counts cached tokens beside the input. */
function writeUsage({
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
