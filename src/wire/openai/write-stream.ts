import type { TokenUsage } from '../../signals/index.ts';
import type { WrittenAnswer } from '../contract/index.ts';

/** An answer as Chat Completions streams it, usage at the end. */
export function writeChatStream(answer: WrittenAnswer): string[] {
  const base = { id: answer.id, object: 'chat.completion.chunk', created: 0, model: answer.model };
  const chunk = (delta: object, finish: string | null = null): object => ({
    ...base,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
  const calls = answer.calls.map(({ id, name, argumentsText }, index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: argumentsText },
  }));
  const events: object[] = [chunk({ role: 'assistant', content: answer.text })];
  if (calls.length > 0) events.push(chunk({ tool_calls: calls }));
  events.push(chunk({}, answer.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop')));
  if (answer.usage !== undefined) {
    events.push({ ...base, choices: [], usage: writeOpenAiUsage(answer.usage, ['prompt', 'completion']) });
  }
  return [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), 'data: [DONE]\n\n'];
}

/** An answer as the Responses API streams it: its items, then the whole response. */
export function writeResponsesStream(answer: WrittenAnswer): string[] {
  const { id, model, text, calls, finishReason, usage } = answer;
  const output = [
    ...(text === '' ? [] : [messageItem(id, text)]),
    ...calls.map((call) => ({
      type: 'function_call',
      id: `fc_${call.id}`,
      call_id: call.id,
      name: call.name,
      arguments: call.argumentsText,
      status: 'completed',
    })),
  ];
  const response = {
    id,
    object: 'response',
    created_at: 0,
    model,
    ...toStatus(finishReason),
    output,
    ...(usage === undefined ? {} : { usage: writeOpenAiUsage(usage, ['input', 'output']) }),
  };
  const events: { readonly type: string; readonly [field: string]: unknown }[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    ...output.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item })),
    { type: `response.${response.status}`, response },
  ];
  return events.map(
    (event, sequence) =>
      `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: sequence })}\n\n`,
  );
}

function messageItem(
  answerId: string,
  text: string,
): { readonly type: string; readonly [field: string]: unknown } {
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { type: 'message', id: `msg_${answerId}`, role: 'assistant', status: 'completed', content };
}

/** The status for a finish reason in semconv words. */
function toStatus(reason: string | undefined): {
  readonly status: string;
  readonly incomplete_details?: object;
} {
  if (reason === undefined || reason === 'stop' || reason === 'tool_call') return { status: 'completed' };
  return {
    status: 'incomplete',
    incomplete_details: { reason: reason === 'length' ? 'max_output_tokens' : reason },
  };
}

/** Usage in OpenAI's words, for Chat (`prompt`, `completion`) or Responses (`input`, `output`). */
function writeOpenAiUsage(
  { inputTokens = 0, outputTokens = 0, cacheReadTokens, reasoningTokens }: TokenUsage,
  [input, output]: readonly ['prompt', 'completion'] | readonly ['input', 'output'],
): object {
  return {
    [`${input}_tokens`]: inputTokens,
    [`${output}_tokens`]: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cacheReadTokens === undefined
      ? {}
      : { [`${input}_tokens_details`]: { cached_tokens: cacheReadTokens } }),
    ...(reasoningTokens === undefined
      ? {}
      : { [`${output}_tokens_details`]: { reasoning_tokens: reasoningTokens } }),
  };
}
