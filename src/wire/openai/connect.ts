import { loadPeer, ObservatoryError } from '../../base/index.ts';
import type { ConnectOptions, WireApi, WireConnection } from '../contract/index.ts';
import { findApiKey, hostOf, resolveApiKey } from '../contract/index.ts';
import { openAiChat, openAiResponses } from './apis.ts';
import type { ChatRequest } from './chat-request.ts';
import { needsResponses } from './models.ts';
import type { ResponsesRequest } from './responses-request.ts';

const VARIABLES = ['OPENAI_API_KEY'] as const;

/** OpenAI, and any server that speaks one of its APIs (`baseUrl` with its `/v1`). */
export async function connectOpenAi(options: ConnectOptions): Promise<WireConnection> {
  const chosen = chosenApi(options.api);
  const apiKey = isOwnEndpoint(options)
    ? (findApiKey(VARIABLES, options) ?? 'no-key')
    : resolveApiKey('openai', VARIABLES, options);
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
  return {
    apiKey,
    serverAddress: hostOf(client.baseURL),
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
