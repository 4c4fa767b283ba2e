/** The three model SDKs behind one face, for tests that hold for all of them. Load after the instrumentations. */
import { createRequire } from 'node:module';
import { sse } from './provider-server.ts';

/** A stream as its reader has it. */
export type ModelStream = AsyncIterable<unknown>;

export interface ModelSdk {
  readonly name: string;
  /** Events of an answer of `texts`, its usage last: 100 input tokens of which 90 are cached, 20 output tokens. */
  events(texts: readonly string[]): string[];
  /** A call that streams, on a client for the given server. */
  stream(url: string): Promise<ModelStream>;
  /** The helper that streams under another name, read to its end. */
  helper(url: string): Promise<void>;
}

const require = createRequire(import.meta.url);

export function openaiSdk(): ModelSdk & {
  client(url: string): import('openai').OpenAI;
  readonly module: typeof import('openai');
} {
  const module = require('openai') as typeof import('openai');
  const { OpenAI } = module;
  const client = (url: string) => new OpenAI({ apiKey: 'sk-test', baseURL: `${url}/v1`, maxRetries: 0 });
  const body = {
    model: 'gpt-4o-mini',
    stream_options: { include_usage: true },
    messages: [{ role: 'user' as const, content: 'Tell me.' }],
  };
  return {
    name: 'openai',
    module,
    client,
    events: (texts) =>
      sse([
        ...texts.map((content) =>
          chunk([{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }]),
        ),
        chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
        { ...chunk([]), usage: USAGE_OPENAI },
        '[DONE]',
      ]),
    stream: (url) => client(url).chat.completions.create({ ...body, stream: true }),
    helper: async (url) => {
      await client(url).chat.completions.stream(body).finalChatCompletion();
    },
  };
  function chunk(choices: unknown[]): object {
    return { id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'gpt-4o-mini-2024-07-18', choices };
  }
}

const USAGE_OPENAI = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 90 },
};

export function anthropicSdk(): ModelSdk & {
  client(url: string): import('@anthropic-ai/sdk').Anthropic;
  readonly module: typeof import('@anthropic-ai/sdk');
} {
  const module = require('@anthropic-ai/sdk') as typeof import('@anthropic-ai/sdk');
  const { Anthropic } = module;
  const client = (url: string) => new Anthropic({ apiKey: 'key', baseURL: url, maxRetries: 0 });
  const body = {
    model: 'claude-sonnet-4-6',
    max_tokens: 100,
    messages: [{ role: 'user' as const, content: 'Tell me.' }],
  };
  return {
    name: '@anthropic-ai/sdk',
    module,
    client,
    events: (texts) =>
      sse(
        [
          {
            type: 'message_start',
            message: {
              id: 'msg_1',
              type: 'message',
              role: 'assistant',
              model: 'claude-sonnet-4-6',
              content: [],
              stop_reason: null,
              stop_sequence: null,
              usage: {
                input_tokens: 4,
                cache_read_input_tokens: 90,
                cache_creation_input_tokens: 6,
                output_tokens: 1,
              },
            },
          },
          { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
          ...texts.map((text) => ({
            type: 'content_block_delta',
            index: 0,
            delta: { type: 'text_delta', text },
          })),
          { type: 'content_block_stop', index: 0 },
          {
            type: 'message_delta',
            delta: { stop_reason: 'end_turn', stop_sequence: null },
            usage: { output_tokens: 20 },
          },
          { type: 'message_stop' },
        ],
        true,
      ),
    stream: (url) => client(url).messages.create({ ...body, stream: true }),
    helper: async (url) => {
      await client(url).messages.stream(body).finalMessage();
    },
  };
}

export function googleSdk(): ModelSdk & {
  client(url: string): import('@google/genai').GoogleGenAI;
  readonly module: typeof import('@google/genai');
} {
  const module = require('@google/genai') as typeof import('@google/genai');
  const { GoogleGenAI } = module;
  const client = (url: string) => new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: url } });
  const model = 'gemini-2.5-flash';
  return {
    name: '@google/genai',
    module,
    client,
    events: (texts) =>
      sse([
        ...texts.map((text) => chunk({ content: { role: 'model', parts: [{ text }] } })),
        {
          ...chunk({ content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP' }),
          usageMetadata: {
            promptTokenCount: 100,
            cachedContentTokenCount: 90,
            candidatesTokenCount: 15,
            thoughtsTokenCount: 5,
            totalTokenCount: 120,
          },
        },
      ]),
    stream: (url) => client(url).models.generateContentStream({ model, contents: 'Tell me.' }),
    helper: async (url) => {
      const chat = client(url).chats.create({ model });
      for await (const _ of await chat.sendMessageStream({ message: 'Tell me.' }));
    },
  };
  function chunk(candidate: object): object {
    return { responseId: 'r1', modelVersion: 'gemini-2.5-flash', candidates: [{ index: 0, ...candidate }] };
  }
}
