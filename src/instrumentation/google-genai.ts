import type { Attributes } from '@opentelemetry/api';
import { InstrumentationNodeModuleDefinition } from '@opentelemetry/instrumentation';
import { semconv } from '../base/index.ts';
import { holdsTextAlone, parseRequest, present } from '../interaction/index.ts';
import {
  addUp,
  isObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  readObject,
  stringAt,
  stringsAt,
} from '../json/index.ts';
import { readUsageObject } from '../signals/index.ts';
import { geminiContent, geminiInteractions } from '../wire/index.ts';
import {
  AnswerReader,
  type Background,
  type CallDescription,
  ModelInstrumentation,
  type ModelInstrumentationConfig,
  type ModelResponse,
  observeApiPromise,
  type PatchPoint,
  pendingIdByStatus,
  type RequestReader,
  type ResponseReader,
  serverAddress,
} from './shared/index.ts';

/** Options of `GoogleGenAIInstrumentation`. */
export interface GoogleGenAIInstrumentationConfig extends ModelInstrumentationConfig {}

/** Versions of `@google/genai` that are hooked. */
export const GOOGLE_GENAI_VERSIONS = '>=1.0.0 <4';

const MODULE = '@google/genai';

/**
 * Traces `@google/genai`: `generateContent`, `generateContentStream`, chats, `embedContent` and interactions. An
 * interaction made in the background is one call, from `create` until it is retrieved.
 *
 * The public methods are made anew for each client and may call the model several times (automatic function calling,
 * continuation). What is observed is the method below them on `Models.prototype`, one span for each request.
 */
export class GoogleGenAIInstrumentation extends ModelInstrumentation<GoogleGenAIInstrumentationConfig> {
  constructor(config: GoogleGenAIInstrumentationConfig = {}) {
    super('google-genai', config);
  }

  protected override init(): InstrumentationNodeModuleDefinition[] {
    return [
      new InstrumentationNodeModuleDefinition(
        MODULE,
        [GOOGLE_GENAI_VERSIONS],
        (exports: unknown, version) => {
          this.patchModule(MODULE, version, exports, POINTS);
          return exports;
        },
      ),
    ];
  }

  /** Patches a module the hooks do not reach: one that is bundled, or was loaded before. Idempotent. */
  manuallyInstrument(googleGenAI: object): void {
    this.patchModule(MODULE, undefined, googleGenAI, POINTS);
  }
}

type Call = 'generate' | 'stream' | 'embed';

const POINTS: readonly PatchPoint[] = [
  point('generateContentInternal', 'generate'),
  point('generateContentStreamInternal', 'stream'),
  // One of the two, by version; since 1.30 or so `embedContent` is a field of each client.
  { ...point('embedContentInternal', 'embed'), optional: true },
  { ...point('embedContent', 'embed'), optional: true },
  interactions('create'),
  ...['get', 'cancel'].map(
    (method): PatchPoint => ({
      ...interactions(method),
      describe: (self, [, params]) =>
        describeInteraction(self, { stream: readObject(params).stream, background: true }),
      retrieves: ([id]) => id,
    }),
  ),
];

/** A method of the class behind `interactions`, which is not exported. */
function interactions(method: string): PatchPoint {
  return {
    path: ['GoogleGenAI'],
    getter: 'interactions',
    method,
    optional: true,
    describe: (self, [params]) => describeInteraction(self, params),
    observe: (result, call) => observeApiPromise(result, call),
  };
}

function describeInteraction(self: InteractionsModule, params: unknown): CallDescription | undefined {
  if (!isObject(params)) return undefined;
  const client = self.parentClient ?? self._client?.clientAdapter;
  return {
    operation: semconv.GEN_AI_OPERATION_NAME_VALUE_GENERATE_CONTENT,
    provider: client?.isVertexAI?.() === true ? 'gcp.vertex_ai' : 'gcp.gemini',
    model: modelName(params),
    server: serverAddress(self.parentClient?.getBaseUrl?.() ?? self._client?.baseURL),
    stream: params.stream === true,
    request: params,
    as: INTERACTIONS,
    reader: new AnswerReader(geminiInteractions),
    background: params.background === true ? BACKGROUND : undefined,
  };
}

const INTERACTIONS: RequestReader = {
  attributes: (params) => {
    const config = objectAt(params, 'generation_config');
    return present({
      [semconv.ATTR_GEN_AI_AGENT_NAME]: stringAt(params, 'agent'),
      [semconv.ATTR_GEN_AI_REQUEST_TEMPERATURE]: numberAt(config, 'temperature'),
      [semconv.ATTR_GEN_AI_REQUEST_TOP_P]: numberAt(config, 'top_p'),
      [semconv.ATTR_GEN_AI_REQUEST_SEED]: numberAt(config, 'seed'),
      [semconv.ATTR_GEN_AI_REQUEST_MAX_TOKENS]: numberAt(config, 'max_output_tokens'),
      [semconv.ATTR_GEN_AI_REQUEST_STOP_SEQUENCES]: stringsAt(config, 'stop_sequences'),
      [semconv.ATTR_GEN_AI_REQUEST_STREAM]: params.stream === true ? true : undefined,
    });
  },
  messages: parseRequest,
  tools: (params) => params.tools,
  isTextAlone: (params) => holdsTextAlone(params.input),
  continues: (params) => params.previous_interaction_id !== undefined,
  speaks: true,
  saysEnd: () => true,
  errorCode,
  canWait: true,
};

const BACKGROUND: Background = {
  pendingId: pendingIdByStatus,
  // An interaction does not tell how it was made.
  isOwn: () => false,
};

function point(method: string, call: Call): PatchPoint {
  return {
    path: ['Models'],
    method,
    describe: (self, args) => describe(self, args[0], call),
    observe: (result, call) => observeApiPromise(result, call),
  };
}

function describe(self: ModelsModule, params: unknown, call: Call): CallDescription | undefined {
  if (!isObject(params)) return undefined;
  const config = objectAt(params, 'config');
  const isEmbedding = call === 'embed';
  return {
    operation: isEmbedding
      ? semconv.GEN_AI_OPERATION_NAME_VALUE_EMBEDDINGS
      : semconv.GEN_AI_OPERATION_NAME_VALUE_GENERATE_CONTENT,
    provider: self.apiClient?.isVertexAI?.() === true ? 'gcp.vertex_ai' : 'gcp.gemini',
    model: modelName(params),
    server: serverAddress(objectAt(config, 'httpOptions')?.baseUrl ?? self.apiClient?.getBaseUrl?.()),
    stream: call === 'stream',
    request: params,
    as: REQUESTS[call],
    reader: isEmbedding ? new EmbeddingsReader() : new AnswerReader(geminiContent),
  };
}

const REQUESTS: Readonly<Record<Call, RequestReader>> = {
  generate: toRequests('generate'),
  stream: toRequests('stream'),
  embed: toRequests('embed'),
};

function toRequests(call: Call): RequestReader {
  const isEmbedding = call === 'embed';
  return {
    attributes: (params) => requestAttributes(params, call === 'stream'),
    messages: (params) => (isEmbedding ? [] : parseRequest(params)),
    tools: (params) => objectAt(params, 'config')?.tools,
    isTextAlone: (params) => holdsTextAlone(params.contents),
    continues: () => false,
    speaks: !isEmbedding,
    saysEnd: () => false,
    errorCode,
    canWait: true,
  };
}

/** The status in Google's words (`NOT_FOUND`, `RESOURCE_EXHAUSTED`), else the HTTP status. */
function errorCode(error: unknown): string | undefined {
  const report = geminiContent.readError(error);
  return report?.code ?? report?.status?.toString();
}

/** Attributes of a `generateContent` request. */
function requestAttributes(params: JsonObject, stream: boolean): Attributes {
  const config = objectAt(params, 'config');
  const choices = numberAt(config, 'candidateCount');
  return present({
    [semconv.ATTR_GEN_AI_REQUEST_TEMPERATURE]: numberAt(config, 'temperature'),
    [semconv.ATTR_GEN_AI_REQUEST_TOP_P]: numberAt(config, 'topP'),
    [semconv.ATTR_GEN_AI_REQUEST_TOP_K]: numberAt(config, 'topK'),
    [semconv.ATTR_GEN_AI_REQUEST_MAX_TOKENS]: numberAt(config, 'maxOutputTokens'),
    [semconv.ATTR_GEN_AI_REQUEST_SEED]: numberAt(config, 'seed'),
    [semconv.ATTR_GEN_AI_REQUEST_FREQUENCY_PENALTY]: numberAt(config, 'frequencyPenalty'),
    [semconv.ATTR_GEN_AI_REQUEST_PRESENCE_PENALTY]: numberAt(config, 'presencePenalty'),
    [semconv.ATTR_GEN_AI_REQUEST_STOP_SEQUENCES]: stringsAt(config, 'stopSequences'),
    [semconv.ATTR_GEN_AI_EMBEDDINGS_DIMENSION_COUNT]: numberAt(config, 'outputDimensionality'),
    [semconv.ATTR_GEN_AI_REQUEST_CHOICE_COUNT]: choices === 1 ? undefined : choices,
    [semconv.ATTR_GEN_AI_REQUEST_STREAM]: stream ? true : undefined,
    [semconv.ATTR_GEN_AI_OUTPUT_TYPE]: outputType(config),
  });
}

function outputType(config: JsonObject | undefined): string | undefined {
  const mimeType = stringAt(config, 'responseMimeType');
  if (mimeType === 'application/json') return 'json';
  const modality = stringsAt(config, 'responseModalities')?.[0]?.toLowerCase();
  if (modality === 'audio') return 'speech';
  if (modality === 'image' || modality === 'text') return modality;
  return mimeType?.startsWith('text/') === true ? 'text' : undefined;
}

/** `gemini-2.5-flash` of `models/gemini-2.5-flash` and of `projects/p/locations/l/publishers/google/models/...`. */
function modelName(params: JsonObject): string | undefined {
  const model = stringAt(params, 'model');
  if (model === undefined) return undefined;
  if (model.startsWith('models/')) return model.slice('models/'.length);
  const at = model.lastIndexOf('/models/');
  return at === -1 ? model : model.slice(at + '/models/'.length);
}

/** Reads an `EmbedContentResponse`; Vertex counts the tokens of each text apart, Gemini may not count at all. */
class EmbeddingsReader implements ResponseReader {
  #response: unknown;

  whole(value: unknown): void {
    this.#response = value;
  }

  chunk(): void {}

  readonly isComplete = true;

  /** Nobody changes an embedding. */
  keep(): void {}

  result(): ModelResponse {
    const counts = listAt(this.#response, 'embeddings').map((embedding) =>
      numberAt(objectAt(embedding, 'statistics'), 'tokenCount'),
    );
    const inputTokens = addUp(...counts);
    const usage = readUsageObject(objectAt(this.#response, 'usageMetadata'));
    return {
      finishReasons: [],
      usage: usage ?? (inputTokens === undefined ? undefined : { inputTokens }),
      messages: () => [],
      toolCallCount: 0,
    };
  }
}

interface ApiClient {
  isVertexAI?(): boolean;
  getBaseUrl?(): string;
}

interface ModelsModule {
  readonly apiClient?: ApiClient;
}

/** The part of what `interactions` gives that is read. */
interface InteractionsModule {
  /** Since 2.0. */
  readonly parentClient?: ApiClient;
  /** Before. */
  readonly _client?: { readonly baseURL?: unknown; readonly clientAdapter?: ApiClient };
}
