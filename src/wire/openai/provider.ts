import { fetchWithinOrigin, importPeer, loadPeer, ObservatoryError } from '../../base/index.ts';
import {
  type ConnectOptions,
  defineApi,
  findApiKey,
  findHost,
  resolveApiKey,
  type WireApi,
  type WireConnection,
  type WireProvider,
} from '../contract/index.ts';
import { readChatAnswer } from './chat-answer.ts';
import { type ChatRequest, writeChatRequest } from './chat-request.ts';
import { ChatStream } from './chat-stream.ts';
import { OPENAI_ERROR_WORDS, readOpenAiError } from './error.ts';
import { needsResponses } from './models.ts';
import { readResponsesAnswer } from './responses-answer.ts';
import { type ResponsesRequest, writeResponsesRequest } from './responses-request.ts';
import { ResponsesStream } from './responses-stream.ts';
import { writeChatStream, writeResponsesStream } from './write-stream.ts';

const SHARED = {
  readError: readOpenAiError,
  errorWords: OPENAI_ERROR_WORDS,
};

/**
 * Chat Completions, and what is read the same way: legacy completions and embeddings. Many servers imitate it; what
 * they change is read here too.
 */
export const openAiChat: WireApi = defineApi({
  ...SHARED,
  name: 'openai.chat',
  path: /\/(?:(?:chat\/)?completions|embeddings)$/,
  recognizes: (value) => Array.isArray(value.choices) || value.object === 'list',
  readAnswer: readChatAnswer,
  newStream: () => new ChatStream(),
  writeRequest: writeChatRequest,
  writeStream: writeChatStream,
});

export const openAiResponses: WireApi = defineApi({
  ...SHARED,
  name: 'openai.responses',
  path: /\/responses$/,
  recognizes: (value) => value.object === 'response' && Array.isArray(value.output),
  readAnswer: readResponsesAnswer,
  newStream: () => new ResponsesStream(),
  writeRequest: writeResponsesRequest,
  writeStream: writeResponsesStream,
});

export const openAi: WireProvider = {
  key: 'openai',
  name: 'openai',
  defaultModel: 'gpt-5.4-mini',
  toolDialect: 'openai',
  apis: [openAiResponses, openAiChat],
  host: 'api.openai.com',
  sdk: 'openai',
  sdkVersion: (headers) => headers.get('x-stainless-package-version') ?? undefined,
  connect: connectOpenAi,
};

const VARIABLES = ['OPENAI_API_KEY'] as const;

/** OpenAI, and any server that speaks one of its APIs (`baseUrl` with its `/v1`). */
async function connectOpenAi(options: ConnectOptions): Promise<WireConnection> {
  const chosen = chosenApi(options.api);
  const apiKey = isOwnEndpoint(options)
    ? (findApiKey(VARIABLES, options) ?? 'no-key')
    : resolveApiKey('openai', VARIABLES, options);
  const { OpenAI } = await loadPeer('openai', () => importPeer<typeof import('openai')>('openai'), {
    neededFor: 'This provider',
    range: '6',
  });
  const client = new OpenAI({
    apiKey,
    maxRetries: 0,
    logLevel: 'off',
    ...(options.baseUrl === undefined ? {} : { baseURL: options.baseUrl }),
    fetch: fetchWithinOrigin(options.fetch ?? fetch),
  });
  return {
    apiKey,
    serverAddress: findHost(client.baseURL),
    apiFor: (model) => chosen ?? (needsResponses(model) ? openAiResponses : openAiChat),
    send: async (api, request, { signal }) =>
      api === openAiResponses
        ? await client.responses.create({ ...(request as ResponsesRequest), stream: false }, { signal })
        : await client.chat.completions.create({ ...(request as ChatRequest), stream: false }, { signal }),
    stream: async (api, request, { signal }) =>
      api === openAiResponses
        ? await client.responses.create({ ...(request as ResponsesRequest), stream: true }, { signal })
        : await client.chat.completions.create(
            { ...(request as ChatRequest), stream: true, stream_options: { include_usage: true } },
            { signal },
          ),
  };
}

function chosenApi(api: string | undefined): WireApi | undefined {
  if (api === undefined) return undefined;
  if (api === 'chat') return openAiChat;
  if (api === 'responses') return openAiResponses;
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected \`api\` of openai to be "chat" or "responses", got ${JSON.stringify(api)}`,
  );
}

/** Compatible servers of one's own may ask for no key; OpenAI's always does. */
function isOwnEndpoint({ baseUrl, env = process.env }: ConnectOptions): boolean {
  return (baseUrl ?? env.OPENAI_BASE_URL) !== undefined;
}
