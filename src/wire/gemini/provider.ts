import { fetchWithinOrigin, importPeer, loadPeer } from '../../base/index.ts';
import { isObject } from '../../json/index.ts';
import {
  type Attempt,
  type ConnectOptions,
  defineApi,
  findHost,
  resolveApiKey,
  type WireApi,
  type WireConnection,
  type WireProvider,
  withExactAnswers,
} from '../contract/index.ts';
import { GEMINI_NAME, readContent } from './answer.ts';
import { GEMINI_ERROR_WORDS, readGeminiError } from './error.ts';
import { type ContentRequest, writeContentRequest } from './request.ts';
import { ContentStream } from './stream.ts';
import { writeContentStream } from './write-stream.ts';

const HOST = 'generativelanguage.googleapis.com';

/** `generateContent`, of the Gemini API and of Vertex AI. */
export const geminiContent: WireApi = defineApi({
  name: 'gemini.generate_content',
  path: /:(?:stream)?generateContent$/i,
  // A refused prompt has no candidates.
  recognizes: ({ candidates, usageMetadata, promptFeedback }) =>
    Array.isArray(candidates) || isObject(usageMetadata) || isObject(promptFeedback),
  readAnswer: readContent,
  newStream: () => new ContentStream(),
  readError: readGeminiError,
  errorWords: GEMINI_ERROR_WORDS,
  writeRequest: writeContentRequest,
  writeStream: writeContentStream,
});

export const gemini: WireProvider = {
  key: 'gemini',
  name: GEMINI_NAME,
  defaultModel: 'gemini-flash-latest',
  toolDialect: 'gemini',
  apis: [geminiContent],
  host: HOST,
  sdk: '@google/genai',
  sdkVersion: (headers) => /google-genai-sdk\/(\S{1,40})/.exec(headers.get('x-goog-api-client') ?? '')?.[1],
  connect,
};

async function connect(options: ConnectOptions): Promise<WireConnection> {
  const apiKey = resolveApiKey('gemini', ['GOOGLE_API_KEY', 'GEMINI_API_KEY'], options);
  const { GoogleGenAI } = await loadPeer(
    '@google/genai',
    () => importPeer<typeof import('@google/genai')>('@google/genai'),
    {
      neededFor: 'This provider',
      range: '2',
    },
  );
  const { models } = new GoogleGenAI({
    apiKey,
    vertexai: false,
    ...(options.baseUrl === undefined ? {} : { httpOptions: { baseUrl: options.baseUrl } }),
  });
  return {
    apiKey,
    serverAddress: findHost(options.baseUrl) ?? HOST,
    apiFor: () => geminiContent,
    send: async (_api, request, attempt) =>
      await models.generateContent(withAttempt(request as ContentRequest, attempt, options.fetch)),
    stream: async (_api, request, attempt) =>
      await models.generateContentStream(withAttempt(request as ContentRequest, attempt, options.fetch)),
  };
}

/** The SDK's errors lack the response's headers, which may ask for a wait: they are kept on the attempt. */
function withAttempt(
  request: ContentRequest,
  attempt: Attempt,
  fetchWith: typeof fetch = fetch,
): ContentRequest {
  const send = withExactAnswers(fetchWithinOrigin(fetchWith));
  const fetchAndKeepHeaders: typeof fetch = async (input, init) => {
    const response = await send(input, init);
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
