import type { Attributes } from '@opentelemetry/api';
import { InstrumentationNodeModuleDefinition } from '@opentelemetry/instrumentation';
import { semconv } from '../base/index.ts';
import { holdsTextAlone, parseRequest, present } from '../interaction/index.ts';
import { isObject, type JsonObject, listAt, numberAt, objectAt, stringAt, stringsAt } from '../json/index.ts';
import { type Answer, type AnswerApi, openAiChat, openAiMedia, openAiResponses } from '../wire/index.ts';
import {
  AnswerReader,
  type Background,
  beforeMethod,
  type CallDescription,
  guard,
  ModelInstrumentation,
  type ModelInstrumentationConfig,
  moduleFiles,
  noteRetry,
  observeApiPromise,
  type PatchPoint,
  pendingIdByStatus,
  providerOfHost,
  type RequestReader,
  serverAddress,
} from './shared/index.ts';

/** Options of `OpenAIInstrumentation`. */
export interface OpenAIInstrumentationConfig extends ModelInstrumentationConfig {}

/** Versions of the `openai` package that are hooked. */
export const OPENAI_VERSIONS = '>=4.19.0 <8';

/**
 * Traces the `openai` package: chat completions, responses and their compaction, embeddings, legacy completions, images,
 * transcriptions, translations and speech, plain and streamed, and the helpers that go through them (`parse`, `stream`,
 * `runTools`). A response made in the background is one call, from `create` until it is retrieved.
 */
export class OpenAIInstrumentation extends ModelInstrumentation<OpenAIInstrumentationConfig> {
  constructor(config: OpenAIInstrumentationConfig = {}) {
    super('openai', config);
  }

  protected override init(): InstrumentationNodeModuleDefinition[] {
    const hooked = (exports: unknown, version?: string) => {
      patch(exports, (points) => this.patchModule('openai', version, exports, points));
      return exports;
    };
    const client = moduleFiles('openai/client', [OPENAI_VERSIONS], hooked);
    return [new InstrumentationNodeModuleDefinition('openai', [OPENAI_VERSIONS], hooked, undefined, client)];
  }

  /** Patches an `openai` module the hooks do not reach: one that is bundled, or was loaded before. Idempotent. */
  manuallyInstrument(openai: object): void {
    const exports = 'OpenAI' in openai ? openai : { OpenAI: openai };
    patch(exports, (points) => this.patchModule('openai', undefined, exports, points));
  }
}

function patch(exports: unknown, patchPoints: (points: readonly PatchPoint[]) => void): void {
  guard('patching openai', () => beforeMethod(exports, 'OpenAI', 'retryRequest', noteRetry));
  patchPoints(POINTS);
}

interface TracedApi {
  readonly operation: string;
  readonly wire: AnswerApi;
  readonly as: RequestReader;
}

const CHAT = api(semconv.GEN_AI_OPERATION_NAME_VALUE_CHAT, openAiChat, {
  type: 'chat_completions',
  speaks: true,
  saysEnd: true,
});
const RESPONSES = api(semconv.GEN_AI_OPERATION_NAME_VALUE_CHAT, openAiResponses, {
  type: 'responses',
  speaks: true,
  saysEnd: true,
  attributes: (body) => ({
    [semconv.ATTR_GEN_AI_CONVERSATION_ID]:
      stringAt(body, 'conversation') ?? stringAt(objectAt(body, 'conversation'), 'id'),
  }),
});
const EMBEDDINGS = api(semconv.GEN_AI_OPERATION_NAME_VALUE_EMBEDDINGS, openAiChat, {
  speaks: false,
  saysEnd: false,
  attributes: (body) => {
    const format = stringAt(body, 'encoding_format');
    return {
      [semconv.ATTR_GEN_AI_EMBEDDINGS_DIMENSION_COUNT]: numberAt(body, 'dimensions'),
      [semconv.ATTR_GEN_AI_REQUEST_ENCODING_FORMATS]: format === undefined ? undefined : [format],
    };
  },
});
const COMPLETIONS = api(semconv.GEN_AI_OPERATION_NAME_VALUE_TEXT_COMPLETION, openAiChat, {
  speaks: true,
  saysEnd: false,
});

/** Of an image, of speech or of a transcript; the request may hold files. */
function media(outputType: string): TracedApi {
  return api(semconv.GEN_AI_OPERATION_NAME_VALUE_GENERATE_CONTENT, openAiMedia, {
    speaks: false,
    saysEnd: true,
    says: true,
    attributes: () => ({ [semconv.ATTR_GEN_AI_OUTPUT_TYPE]: outputType }),
  });
}

interface ApiTraits {
  readonly type?: 'chat_completions' | 'responses';
  readonly speaks: boolean;
  readonly saysEnd: boolean;
  /** Whether the request holds a text. @defaultValue `speaks` */
  readonly says?: boolean;
  readonly attributes?: (body: JsonObject) => Record<string, Attributes[string]>;
}

function api(operation: string, wire: AnswerApi, traits: ApiTraits): TracedApi {
  const { type, speaks, saysEnd, says = speaks, attributes } = traits;
  return {
    operation,
    wire,
    as: {
      attributes: (body) => {
        const found = requestAttributes(body, type);
        return attributes === undefined ? found : { ...found, ...present(attributes(body)) };
      },
      messages: (body) => (says ? parseRequest(body) : []),
      tools: (body) => body.tools ?? body.functions,
      isTextAlone: (body) => holdsTextAlone(body.messages ?? body.input),
      continues: (body) => body.previous_response_id !== undefined || body.conversation !== undefined,
      speaks,
      // A stream of audio may end without a reason.
      saysEnd: (body) => saysEnd && !isObject(body.audio),
      errorCode: (error) => wire.readError(error)?.code,
      canWait: true,
    },
  };
}

const POINTS: readonly PatchPoint[] = [
  point(['OpenAI', 'Chat', 'Completions'], CHAT),
  point(['OpenAI', 'Responses'], RESPONSES),
  { ...point(['OpenAI', 'Beta', 'Responses'], RESPONSES), optional: true },
  point(['OpenAI', 'Embeddings'], EMBEDDINGS),
  point(['OpenAI', 'Completions'], COMPLETIONS),
  later(['OpenAI', 'Responses'], RESPONSES, 'compact'),
  later(['OpenAI', 'Images'], media('image'), 'generate'),
  later(['OpenAI', 'Images'], media('image'), 'edit'),
  later(['OpenAI', 'Images'], media('image'), 'createVariation'),
  later(['OpenAI', 'Audio', 'Transcriptions'], media('text')),
  later(['OpenAI', 'Audio', 'Translations'], media('text')),
  later(['OpenAI', 'Audio', 'Speech'], media('speech')),
  retrieval('retrieve'),
  retrieval('cancel'),
];

function point(path: readonly string[], api: TracedApi, method = 'create'): PatchPoint {
  return {
    path,
    method,
    describe: (self, args) => describe(self, args[0], api),
    observe: (result, call) => observeApiPromise(result, call),
  };
}

/** A method that not every supported version has. */
function later(path: readonly string[], api: TracedApi, method?: string): PatchPoint {
  return { ...point(path, api, method), optional: true };
}

/** A method that gives a response which is, or was, made in the background. */
function retrieval(method: string): PatchPoint {
  return {
    ...later(['OpenAI', 'Responses'], RESPONSES, method),
    describe: (self, [, query]) =>
      describe(self, { stream: isObject(query) && query.stream === true, background: true }, RESPONSES),
    retrieves: ([id]) => id,
  };
}

const BACKGROUND: Background = {
  pendingId: pendingIdByStatus,
  isOwn: (value) => isObject(value) && value.background === true,
};

function describe(self: ApiResource, body: unknown, api: TracedApi): CallDescription | undefined {
  if (!isObject(body)) return undefined;
  const server = serverAddress(self._client?.baseURL);
  return {
    operation: api.operation,
    provider: providerOfHost(server?.address) ?? defaultProvider(self),
    model: stringAt(body, 'model'),
    server,
    stream: body.stream === true,
    request: body,
    as: api.as,
    reader: new AnswerReader(api.wire, responseAttributes),
    background: api === RESPONSES && body.background === true ? BACKGROUND : undefined,
  };
}

/** Hosts that are not known count as OpenAI's, behind the client for Azure as Azure's: a gateway, a private endpoint. */
function defaultProvider({ _client: client }: ApiResource): string {
  return typeof client?.apiVersion === 'string' ? 'azure.ai.openai' : 'openai';
}

function responseAttributes({ serviceTier }: Answer, whole: unknown): Attributes {
  return present({
    [semconv.ATTR_OPENAI_RESPONSE_SERVICE_TIER]: serviceTier,
    [semconv.ATTR_OPENAI_RESPONSE_SYSTEM_FINGERPRINT]: stringAt(whole, 'system_fingerprint'),
  });
}

/** `gen_ai.output.type` by the request's format; a schema is JSON too. */
const OUTPUT_TYPE: Readonly<Record<string, string>> = {
  text: 'text',
  json_object: 'json',
  json_schema: 'json',
};

/** Request attributes that the body of Chat, Responses, Completions and Embeddings share. */
function requestAttributes(body: JsonObject, apiType: ApiTraits['type']): Attributes {
  const choices = numberAt(body, 'n');
  const tier = stringAt(body, 'service_tier');
  const format = objectAt(body, 'response_format') ?? objectAt(objectAt(body, 'text'), 'format');
  const speaks = listAt(body, 'modalities').includes('audio');
  return present({
    [semconv.ATTR_OPENAI_API_TYPE]: apiType,
    [semconv.ATTR_GEN_AI_REQUEST_TEMPERATURE]: numberAt(body, 'temperature'),
    [semconv.ATTR_GEN_AI_REQUEST_TOP_P]: numberAt(body, 'top_p'),
    [semconv.ATTR_GEN_AI_REQUEST_FREQUENCY_PENALTY]: numberAt(body, 'frequency_penalty'),
    [semconv.ATTR_GEN_AI_REQUEST_PRESENCE_PENALTY]: numberAt(body, 'presence_penalty'),
    [semconv.ATTR_GEN_AI_REQUEST_SEED]: numberAt(body, 'seed'),
    [semconv.ATTR_GEN_AI_REQUEST_STOP_SEQUENCES]: stringsAt(body, 'stop'),
    [semconv.ATTR_GEN_AI_REQUEST_MAX_TOKENS]:
      numberAt(body, 'max_completion_tokens') ??
      numberAt(body, 'max_tokens') ??
      numberAt(body, 'max_output_tokens'),
    [semconv.ATTR_GEN_AI_REQUEST_CHOICE_COUNT]: choices === 1 ? undefined : choices,
    [semconv.ATTR_GEN_AI_REQUEST_STREAM]: body.stream === true ? true : undefined,
    [semconv.ATTR_OPENAI_REQUEST_SERVICE_TIER]: tier === 'auto' ? undefined : tier,
    [semconv.ATTR_GEN_AI_OUTPUT_TYPE]:
      OUTPUT_TYPE[stringAt(format, 'type') ?? ''] ?? (speaks ? 'speech' : undefined),
  });
}

/** The fields of an API resource of the SDK (`client.chat.completions`, ...) that are read. */
interface ApiResource {
  readonly _client?: {
    readonly baseURL?: unknown;
    /** Of the client for Azure alone. */
    readonly apiVersion?: unknown;
  };
}
