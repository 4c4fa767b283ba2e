import { loadPeer } from '../../base/index.ts';
import type { Attempt } from '../../wire/index.ts';
import { resolveApiKey } from '../../wire/index.ts';
import { type GeminiRequest, toGeminiRequest } from './gemini-request.ts';
import { fromGeminiResponse, type GeminiResponse, GeminiStream } from './gemini-response.ts';
import { hostOf } from './host.ts';
import type { Provider, ProviderOptions } from './provider.ts';

import { send } from './send.ts';

const NAME = 'gcp.gemini';
const DEFAULT_MODEL = 'gemini-flash-latest';
const DEFAULT_HOST = 'generativelanguage.googleapis.com';

/** Google's Gemini API (`generateContent`). */
export async function createGeminiProvider(options: ProviderOptions): Promise<Provider> {
  const apiKey = resolveApiKey('gemini', ['GOOGLE_API_KEY', 'GEMINI_API_KEY'], options);
  const { GoogleGenAI } = await loadPeer('@google/genai', () => import('@google/genai'), {
    neededFor: 'This provider',
    range: '2',
  });
  const client = new GoogleGenAI({
    apiKey,
    vertexai: false,
    ...(options.baseUrl === undefined ? {} : { httpOptions: { baseUrl: options.baseUrl } }),
  });
  const defaultModel = options.model ?? DEFAULT_MODEL;
  return {
    name: NAME,
    defaultModel,
    toolDialect: 'gemini',
    serverAddress: hostOf(options.baseUrl) ?? DEFAULT_HOST,
    createCompletion: (messages, tools, callOptions = {}) =>
      send<GeminiRequest, GeminiResponse, GeminiResponse>(
        {
          provider: NAME,
          apiKey,
          request: toGeminiRequest(callOptions.model ?? defaultModel, messages, tools, callOptions),
          once: async (request, attempt) =>
            await client.models.generateContent(withAttempt(request, attempt, options.fetch)),
          stream: async (request, attempt) =>
            await client.models.generateContentStream(withAttempt(request, attempt, options.fetch)),
          newAssembler: () => new GeminiStream(),
          parse: fromGeminiResponse,
        },
        options,
        callOptions,
      ),
  };
}

/** The SDK's errors do not carry the response's headers, where a wait may be asked for: keep them on the attempt. */
function withAttempt(
  request: GeminiRequest,
  attempt: Attempt,
  fetchWith: typeof fetch = fetch,
): GeminiRequest {
  const fetchAndKeepHeaders: typeof fetch = async (input, init) => {
    const response = await fetchWith(input, init);
    attempt.errorHeaders = response.ok ? undefined : response.headers;
    return response;
  };
  return {
    ...request,
    config: {
      ...request.config,
      abortSignal: attempt.signal,
      httpOptions: { ...request.config.httpOptions, fetch: fetchAndKeepHeaders },
    },
  };
}
