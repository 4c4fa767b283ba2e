import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions';
import { loadPeer } from '../../base/index.ts';
import { findApiKey, hostOf, resolveApiKey } from '../../wire/index.ts';
import { type OpenAIRequest, toOpenAIRequest } from './openai-request.ts';
import { fromOpenAIResponse, OpenAIStream } from './openai-response.ts';
import type { Provider, ProviderOptions } from './provider.ts';
import { send } from './send.ts';

const NAME = 'openai';
const VARIABLES = ['OPENAI_API_KEY'] as const;
const DEFAULT_MODEL = 'gpt-5.4-mini';

/** OpenAI's Chat Completions, and any server that speaks them (`baseUrl` with its `/v1`). */
export async function createOpenAIProvider(options: ProviderOptions): Promise<Provider> {
  const apiKey = isOwnEndpoint(options)
    ? (findApiKey(VARIABLES, options) ?? 'no-key')
    : resolveApiKey(NAME, VARIABLES, options);
  const { OpenAI } = await loadPeer('openai', () => import('openai'), {
    neededFor: 'This provider',
    range: '6',
  });
  const client = new OpenAI({
    apiKey,
    maxRetries: 0,
    logLevel: 'off',
    ...(options.baseUrl === undefined ? {} : { baseURL: options.baseUrl }),
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  });
  const defaultModel = options.model ?? DEFAULT_MODEL;
  return {
    name: NAME,
    defaultModel,
    toolDialect: 'openai',
    serverAddress: hostOf(client.baseURL),
    createCompletion: (messages, tools, callOptions = {}) =>
      send<OpenAIRequest, ChatCompletionChunk, ChatCompletion>(
        {
          provider: NAME,
          apiKey,
          request: toOpenAIRequest(callOptions.model ?? defaultModel, messages, tools, callOptions),
          once: async (request, { signal }) =>
            await client.chat.completions.create({ ...request, stream: false }, { signal }),
          stream: async (request, { signal }) =>
            await client.chat.completions.create(
              { ...request, stream: true, stream_options: { include_usage: true } },
              { signal },
            ),
          newAssembler: () => new OpenAIStream(),
          parse: fromOpenAIResponse,
        },
        options,
        callOptions,
      ),
  };
}

/** Compatible servers of one's own may ask for no key; OpenAI's always does. */
function isOwnEndpoint({ baseUrl, env = process.env }: ProviderOptions): boolean {
  return (baseUrl ?? env.OPENAI_BASE_URL) !== undefined;
}
