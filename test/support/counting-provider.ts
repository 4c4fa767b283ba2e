/** A server with the APIs of OpenAI, Anthropic, Gemini and Bedrock that keeps count of what it answered. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface CountedCall {
  readonly url: string;
  /** With cached tokens. */
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly costUsd: number;
}

export interface CountingProvider extends AsyncDisposable {
  readonly url: string;
  /** What was answered below a path, `/NAME/...`, which is the name of a program. */
  callsOf(name: string): readonly CountedCall[];
}

type Json = Record<string, unknown>;

const CACHED = 400;
/** US dollars per million tokens: input, cached, output. */
const RATES = { openai: [2.5, 1.25, 10], anthropic: [3, 0.3, 15], gemini: [0.3, 0.03, 2.5] } as const;

/** Every answer has counts of its own, so that no sum is right by chance. A tool that is offered is called once. */
export async function startCountingProvider(): Promise<CountingProvider> {
  const calls = new Map<string, CountedCall[]>();
  let answered = 0;
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const [, name = '', ...path] = (request.url ?? '').split('/');
    const url = path.join('/');
    const asked = parse(await text(request));
    answered += 1;
    const turn = { id: answered, input: 1000 + answered, output: 40 + answered, asked };
    const api = APIS.find(({ matches }) => matches.test(url));
    if (api === undefined) {
      response.statusCode = url.endsWith('models') ? 200 : 404;
      response.end(JSON.stringify({ object: 'list', data: [] }));
      return;
    }
    const [input, cached, output] = RATES[api.rates];
    const plain = api.isApart ? turn.input : turn.input - CACHED;
    const costUsd = (plain * input + CACHED * cached + turn.output * output) / 1e6;
    const call = { url, input: plain + CACHED, output: turn.output, cached: CACHED, costUsd };
    calls.set(name, [...(calls.get(name) ?? []), call]);
    api.answer(turn, response, url);
  };
  const server = createServer((request, response) => void handle(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    callsOf: (name) => calls.get(name) ?? [],
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface Turn {
  readonly id: number;
  readonly input: number;
  readonly output: number;
  readonly asked: Json;
}

interface Api {
  readonly matches: RegExp;
  readonly rates: keyof typeof RATES;
  readonly isApart?: true;
  answer(turn: Turn, response: ServerResponse, url: string): void;
}

const APIS: readonly Api[] = [
  { matches: /chat\/completions/, rates: 'openai', answer: answerChat },
  { matches: /responses/, rates: 'openai', answer: answerResponses },
  { matches: /messages|\/invoke$/, rates: 'anthropic', isApart: true, answer: answerMessages },
  { matches: /\/converse$/, rates: 'anthropic', isApart: true, answer: answerConverse },
  { matches: /interactions/, rates: 'gemini', answer: answerInteraction },
  { matches: /generateContent/i, rates: 'gemini', answer: answerGemini },
];

const MODEL = 'gpt-4o-2024-08-06';

function answerChat({ id, input, output, asked }: Turn, response: ServerResponse): void {
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: CACHED },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
  const tool = toolToCall(asked, (offered) => offered.function as Json);
  const call = tool && { id: `call_${id}`, type: 'function', function: tool };
  const message = {
    role: 'assistant',
    content: call ? null : 'hello',
    ...(call && { tool_calls: [{ index: 0, ...call }] }),
  };
  const base = { id: `chatcmpl-${id}`, created: 1, model: MODEL };
  const reason = call ? 'tool_calls' : 'stop';
  if (asked.stream !== true) {
    const choices = [{ index: 0, message, finish_reason: reason }];
    send(response, { ...base, object: 'chat.completion', choices, usage });
    return;
  }
  const chunk = { ...base, object: 'chat.completion.chunk' };
  stream(response, [
    { ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: reason }] },
    { ...chunk, choices: [], usage },
    '[DONE]',
  ]);
}

function answerResponses({ id, input, output, asked }: Turn, response: ServerResponse): void {
  const tool = toolToCall(asked, (offered) => offered);
  const said = { type: 'output_text', text: 'hello', annotations: [] };
  const item = tool
    ? { type: 'function_call', id: `fc_${id}`, call_id: `call_${id}`, ...tool, status: 'completed' }
    : { type: 'message', id: `msg_${id}`, role: 'assistant', status: 'completed', content: [said] };
  const whole = {
    id: `resp_${id}`,
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: MODEL,
    output: [item],
    usage: {
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
      input_tokens_details: { cached_tokens: CACHED },
      output_tokens_details: { reasoning_tokens: 0 },
    },
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    temperature: 1,
    top_p: 1,
  };
  if (asked.stream !== true) send(response, whole);
  else {
    const created = { ...whole, status: 'in_progress', output: [], usage: null };
    stream(response, [
      { type: 'response.created', sequence_number: 0, response: created },
      { type: 'response.completed', sequence_number: 1, response: whole },
    ]);
  }
}

function answerMessages({ id, input, output, asked }: Turn, response: ServerResponse): void {
  const usage = {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: CACHED,
    cache_creation_input_tokens: 0,
  };
  const end = { stop_reason: 'end_turn', stop_sequence: null };
  const block = { type: 'text', text: 'hello' };
  const message = {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5-20250929',
  };
  if (asked.stream !== true) {
    send(response, { ...message, ...end, content: [block], usage });
    return;
  }
  const started = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  stream(response, [
    { type: 'message_start', message: started },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: end, usage: { output_tokens: output } },
    { type: 'message_stop' },
  ]);
}

function answerConverse({ input, output }: Turn, response: ServerResponse): void {
  send(response, {
    output: { message: { role: 'assistant', content: [{ text: 'hello' }] } },
    stopReason: 'end_turn',
    usage: {
      inputTokens: input,
      outputTokens: output,
      totalTokens: input + output + CACHED,
      cacheReadInputTokens: CACHED,
    },
  });
}

function answerInteraction({ id, input, output, asked }: Turn, response: ServerResponse): void {
  send(response, {
    id: `i${id}`,
    model: asked.model,
    status: 'completed',
    steps: [{ type: 'model_output', content: [{ type: 'text', text: 'hello' }] }],
    usage: {
      total_input_tokens: input,
      total_cached_tokens: CACHED,
      total_output_tokens: output,
      total_tokens: input + output,
    },
  });
}

function answerGemini({ id, input, output, asked }: Turn, response: ServerResponse, url: string): void {
  const [first] = (asked.tools as Json[] | undefined) ?? [];
  const [declared] = (first?.functionDeclarations as Json[] | undefined) ?? [];
  const isCall = declared !== undefined && !JSON.stringify(asked.contents).includes('functionResponse');
  const part = isCall ? { functionCall: { name: declared.name, args: { city: 'x' } } } : { text: 'hello' };
  const whole = {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: output,
      totalTokenCount: input + output,
      cachedContentTokenCount: CACHED,
    },
    modelVersion: 'gemini-2.5-flash',
    responseId: `g${id}`,
  };
  if (url.includes('stream')) stream(response, [whole]);
  else send(response, whole);
}

/** The first tool that is offered, unless a tool has answered already. */
function toolToCall(asked: Json, definitionOf: (offered: Json) => Json): Json | undefined {
  const [offered] = (asked.tools as Json[] | undefined) ?? [];
  const said = JSON.stringify(asked.messages ?? asked.input ?? '');
  if (offered === undefined || /"role":\s*"tool"|function_call_output/.test(said)) return undefined;
  const { name, parameters } = definitionOf(offered);
  const names = Object.keys((parameters as { properties?: Json } | undefined)?.properties ?? {});
  return { name, arguments: JSON.stringify(Object.fromEntries(names.map((key) => [key, 'x']))) };
}

function send(response: ServerResponse, value: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(value));
}

function stream(response: ServerResponse, events: readonly (Json | string)[]): void {
  response.setHeader('content-type', 'text/event-stream');
  for (const event of events) {
    const named = typeof event === 'object' && typeof event.type === 'string' ? `event: ${event.type}\n` : '';
    response.write(`${named}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  }
  response.end();
}

function parse(body: string): Json {
  try {
    return JSON.parse(body) as Json;
  } catch {
    return {};
  }
}
