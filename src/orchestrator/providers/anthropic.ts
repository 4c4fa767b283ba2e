import type { RawMessageStreamEvent, Message as WireMessage } from '@anthropic-ai/sdk/resources/messages';
import { loadPeer } from '../../base/index.ts';
import { resolveApiKey } from '../../wire/index.ts';
import { type AnthropicRequest, toAnthropicRequest } from './anthropic-request.ts';
import { AnthropicStream, fromAnthropicResponse } from './anthropic-response.ts';
import { hostOf } from './host.ts';
import type { Provider, ProviderOptions } from './provider.ts';
import { send } from './send.ts';

const NAME = 'anthropic';
const DEFAULT_MODEL = 'claude-sonnet-5-5';

/** Anthropic's Messages API. */
export async function createAnthropicProvider(options: ProviderOptions): Promise<Provider> {
  const apiKey = resolveApiKey(NAME, ['ANTHROPIC_API_KEY'], options);
  const { Anthropic } = await loadPeer('@anthropic-ai/sdk', () => import('@anthropic-ai/sdk'), {
    neededFor: 'This provider',
    range: '1',
  });
  const client = new Anthropic({
    apiKey,
    // A token in the environment would be sent beside the key that was asked for.
    authToken: null,
    maxRetries: 0,
    logLevel: 'off',
    ...(options.baseUrl === undefined ? {} : { baseURL: options.baseUrl }),
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  });
  const defaultModel = options.model ?? DEFAULT_MODEL;
  return {
    name: NAME,
    defaultModel,
    toolDialect: 'anthropic',
    serverAddress: hostOf(client.baseURL),
    createCompletion: (messages, tools, callOptions = {}) =>
      send<AnthropicRequest, RawMessageStreamEvent, WireMessage>(
        {
          provider: NAME,
          apiKey,
          request: toAnthropicRequest(callOptions.model ?? defaultModel, messages, tools, callOptions),
          once: async (request, { signal }) =>
            // The explicit limit keeps the SDK from refusing long answers without streaming.
            await client.messages.create({ ...request, stream: false }, { signal, timeout: 600_000 }),
          stream: async (request, { signal }) =>
            await client.messages.create({ ...request, stream: true }, { signal }),
          newAssembler: () => new AnthropicStream(),
          parse: fromAnthropicResponse,
        },
        options,
        callOptions,
      ),
  };
}
