import { fetchWithinOrigin, importPeer, loadPeer } from '../../base/index.ts';
import {
  type ConnectOptions,
  defineApi,
  findHost,
  resolveApiKey,
  type WireApi,
  type WireConnection,
  type WireProvider,
  withExactAnswers,
} from '../contract/index.ts';
import { ANTHROPIC_NAME, readMessage } from './answer.ts';
import { ANTHROPIC_ERROR_WORDS, readAnthropicError } from './error.ts';
import { type MessagesRequest, writeMessagesRequest } from './request.ts';
import { MessageStream } from './stream.ts';
import { writeMessageStream } from './write-stream.ts';

export const anthropicMessages: WireApi = defineApi({
  name: 'anthropic.messages',
  path: /\/messages$/,
  recognizes: (value) =>
    value.type === 'message' && value.role === 'assistant' && Array.isArray(value.content),
  readAnswer: readMessage,
  newStream: () => new MessageStream(),
  readError: readAnthropicError,
  errorWords: ANTHROPIC_ERROR_WORDS,
  writeRequest: writeMessagesRequest,
  writeStream: writeMessageStream,
});

export const anthropic: WireProvider = {
  key: 'anthropic',
  name: ANTHROPIC_NAME,
  defaultModel: 'claude-sonnet-5-5',
  toolDialect: 'anthropic',
  apis: [anthropicMessages],
  host: 'api.anthropic.com',
  sdk: '@anthropic-ai/sdk',
  sdkVersion: (headers) => headers.get('x-stainless-package-version') ?? undefined,
  connect,
};

async function connect(options: ConnectOptions): Promise<WireConnection> {
  const apiKey = resolveApiKey('anthropic', ['ANTHROPIC_API_KEY'], options);
  const { Anthropic } = await loadPeer(
    '@anthropic-ai/sdk',
    () => importPeer<typeof import('@anthropic-ai/sdk')>('@anthropic-ai/sdk'),
    {
      neededFor: 'This provider',
      range: '1',
    },
  );
  const client = new Anthropic({
    apiKey,
    // A token in the environment would be sent beside the key that was asked for.
    authToken: null,
    maxRetries: 0,
    logLevel: 'off',
    ...(options.baseUrl === undefined ? {} : { baseURL: options.baseUrl }),
    fetch: withExactAnswers(fetchWithinOrigin(options.fetch ?? fetch)),
  });
  return {
    apiKey,
    serverAddress: findHost(client.baseURL),
    apiFor: () => anthropicMessages,
    send: async (_api, request, { signal }) =>
      // The explicit limit keeps the SDK from refusing long answers without streaming.
      await client.messages.create(
        { ...(request as MessagesRequest), stream: false },
        { signal, timeout: 600_000 },
      ),
    stream: async (_api, request, { signal }) =>
      await client.messages.create({ ...(request as MessagesRequest), stream: true }, { signal }),
  };
}
