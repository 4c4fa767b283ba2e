/**
 * A model behind the APIs of OpenAI and Anthropic, plain and streamed: it calls the first tool that it is offered, then says "done".
 * Each call costs 100 tokens in and 10 out. The model `broken` fails, and `slow` answers after a minute.
 */
import { sha256Hex } from '../../src/json/index.ts';
import { type ProviderReply, type ProviderRequest, sse } from './provider-server.ts';
import { answerMessages } from './tool-provider-messages.ts';

export const INPUT_TOKENS = 100;
export const OUTPUT_TOKENS = 10;
/** Of a call: $2.50 for a million tokens in, $10 for a million out. */
export const COST_USD = (INPUT_TOKENS * 2.5 + OUTPUT_TOKENS * 10) / 1e6;
const MODEL = 'gpt-4o-2024-08-06';

interface ToolDefinition {
  readonly name?: string;
  readonly parameters?: { readonly properties?: object };
}

interface Body {
  readonly model?: string;
  readonly stream?: boolean;
  readonly tools?: readonly (ToolDefinition & { readonly function?: ToolDefinition })[];
  readonly messages?: readonly { readonly role: string }[];
  readonly input?: unknown;
}

export function answerWithTool({ path, body }: ProviderRequest): ProviderReply {
  const request = (body ?? {}) as Body;
  if (request.model === 'broken') return { status: 500, body: { error: { message: 'it is broken' } } };
  if (request.model === 'slow') return { events: [': wait\n\n', ': wait\n\n'], pauseMs: 60_000 };
  if (path.endsWith('/chat/completions')) return chat(request);
  if (path.endsWith('/responses')) return responses(request);
  if (path.startsWith('/v1/messages?'))
    return answerMessages(request as object, { input: INPUT_TOKENS, output: OUTPUT_TOKENS });
  return { status: 404, body: {} };
}

function chat({ stream, tools = [], messages = [] }: Body): ProviderReply {
  const isCall = tools.length > 0 && !messages.some(({ role }) => role === 'tool');
  const id = `chat-${hashOf(messages)}`;
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: tools[0]?.function?.name, arguments: argumentsOf(tools[0]?.function) },
  };
  const message = isCall
    ? { role: 'assistant', content: null, tool_calls: [call] }
    : { role: 'assistant', content: 'done' };
  const finish_reason = isCall ? 'tool_calls' : 'stop';
  const usage = {
    prompt_tokens: INPUT_TOKENS,
    completion_tokens: OUTPUT_TOKENS,
    total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
  };
  const common = { id, created: 1, model: MODEL };
  if (stream !== true) {
    const choices = [{ index: 0, message, finish_reason, logprobs: null }];
    return { body: { ...common, object: 'chat.completion', choices, usage } };
  }
  const chunk = { ...common, object: 'chat.completion.chunk' };
  const delta = isCall ? { role: 'assistant', tool_calls: [{ index: 0, ...call }] } : message;
  return {
    events: sse([
      { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }] },
      { ...chunk, choices: [], usage },
      '[DONE]',
    ]),
  };
}

function responses({ stream, tools = [], input }: Body): ProviderReply {
  const items = Array.isArray(input) ? (input as { type?: string }[]) : [];
  const isCall = tools.length > 0 && !items.some(({ type }) => type === 'function_call_output');
  const item = isCall
    ? {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: tools[0]?.name,
        arguments: argumentsOf(tools[0]),
        status: 'completed',
      }
    : {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'done', annotations: [] }],
      };
  const response = {
    id: `resp_${hashOf(input)}`,
    object: 'response',
    created_at: 1,
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: null,
    model: MODEL,
    output: [item],
    parallel_tool_calls: true,
    temperature: 1,
    top_p: 1,
    tool_choice: 'auto',
    tools: [],
    metadata: {},
    usage: {
      input_tokens: INPUT_TOKENS,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: OUTPUT_TOKENS,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
    },
  };
  return stream === true ? { events: responseEvents(response, item) } : { body: response };
}

/** Requests that differ have answers with ids of their own; equal ones have equal answers. */
const hashOf = (value: unknown): string => sha256Hex(JSON.stringify(value) ?? '').slice(0, 12);

/** An `x` for the first parameter of a tool, which is a text. */
function argumentsOf(tool: ToolDefinition | undefined): string {
  return JSON.stringify({ [Object.keys(tool?.parameters?.properties ?? {})[0] ?? 'text']: 'x' });
}

interface Item {
  readonly type: string;
  readonly id: string;
  readonly arguments?: string;
}

function responseEvents(response: object, item: Item): string[] {
  const at = { item_id: item.id, output_index: 0 };
  const text = { type: 'output_text', text: '', annotations: [] };
  const events: object[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
  ];
  if (item.type === 'message') {
    events.push(
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, status: 'in_progress', content: [] },
      },
      { type: 'response.content_part.added', ...at, content_index: 0, part: text },
      { type: 'response.output_text.delta', ...at, content_index: 0, delta: 'done' },
    );
  } else {
    events.push(
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, status: 'in_progress', arguments: '' },
      },
      { type: 'response.function_call_arguments.delta', ...at, delta: item.arguments },
      { type: 'response.function_call_arguments.done', ...at, arguments: item.arguments },
    );
  }
  events.push(
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  );
  return sse(
    events.map((event, sequence_number) => ({ ...event, sequence_number })),
    true,
  );
}
