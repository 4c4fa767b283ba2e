/** The model of `tool-provider.ts` behind Anthropic's Messages API. */
import { type ProviderReply, sse } from './provider-server.ts';

interface Body {
  readonly stream?: boolean;
  readonly tools?: readonly { readonly name: string }[];
  readonly messages?: readonly unknown[];
}

export function answerMessages(
  { stream, tools = [], messages = [] }: Body,
  tokens: { readonly input: number; readonly output: number },
): ProviderReply {
  const isCall = tools.length > 0 && !JSON.stringify(messages).includes('"tool_result"');
  // The tool that starts a subagent, which has a conversation of its own.
  const isAgent = tools[0]?.name === 'Agent';
  const input = isAgent
    ? { description: 'greets', prompt: 'Say hello', subagent_type: 'inner' }
    : { text: 'x' };
  const block = isCall
    ? { type: 'tool_use', id: isAgent ? 'toolu_agent' : 'toolu_1', name: tools[0]?.name, input }
    : { type: 'text', text: 'done' };
  const usage = { input_tokens: tokens.input, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const message = {
    id: `msg_${isAgent ? 'agent_' : ''}${messages.length}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5-20250929',
    content: [block],
    stop_reason: isCall ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { ...usage, output_tokens: tokens.output },
  };
  if (stream !== true) return { body: message };
  const start = isCall ? { ...block, input: {} } : { type: 'text', text: '' };
  const delta = isCall
    ? { type: 'input_json_delta', partial_json: JSON.stringify(input) }
    : { type: 'text_delta', text: 'done' };
  const { stop_reason, stop_sequence } = message;
  const begun = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  const events = [
    { type: 'message_start', message: begun },
    { type: 'content_block_start', index: 0, content_block: start },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage: { output_tokens: tokens.output } },
    { type: 'message_stop' },
  ];
  return { events: sse(events, true) };
}
