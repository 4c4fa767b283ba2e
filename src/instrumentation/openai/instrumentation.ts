import { InstrumentationNodeModuleDefinition } from '@opentelemetry/instrumentation';
import { ATTR_GEN_AI_CONVERSATION_ID } from '../../base/index.ts';
import { parseRequest } from '../../interaction/index.ts';
import { isObject, type JsonObject, numberAt, objectAt, stringAt } from '../../json/index.ts';
import type { CallDescription, ResponseReader } from '../shared/index.ts';
import {
  beforeMethod,
  firstCode,
  guard,
  type ModelCall,
  ModelInstrumentation,
  moduleFiles,
  noteRetry,
  observeApiPromise,
  type PatchPoint,
  providerOfHost,
  serverAddress,
} from '../shared/index.ts';
import * as own from '../shared/semconv.ts';
import { ChatReader } from './chat-reader.ts';
import { EmbeddingsReader } from './embeddings-reader.ts';
import type { ApiResource } from './internal-types.ts';
import { requestAttributes } from './request.ts';
import { ResponsesReader } from './responses-reader.ts';
import type { OpenAIInstrumentationConfig } from './types.ts';

/** Versions of the `openai` package that are hooked. */
export const OPENAI_VERSIONS = '>=4.19.0 <8';

/**
 * Traces the `openai` package: chat completions, responses, embeddings and legacy completions, plain and streamed, and
 * the helpers that go through them (`parse`, `stream`, `runTools`).
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

interface Api {
  readonly operation: string;
  readonly type?: 'chat_completions' | 'responses';
  readonly reader: () => ResponseReader;
  /** Whether what is sent is said to a model that answers. */
  readonly speaks: boolean;
  readonly isWhole?: CallDescription['isWhole'];
  readonly attributes?: (body: JsonObject) => Record<string, string | number | string[]>;
}

const CHAT: Api = {
  operation: own.OPERATION_CHAT,
  type: 'chat_completions',
  reader: () => new ChatReader(),
  // The SDK keeps `[DONE]` to itself.
  isWhole: ({ finishReasons }) => finishReasons.length > 0,
  speaks: true,
};
const RESPONSES: Api = {
  operation: own.OPERATION_CHAT,
  type: 'responses',
  reader: () => new ResponsesReader(),
  speaks: true,
  attributes: (body) => {
    const id = stringAt(body, 'conversation') ?? stringAt(objectAt(body, 'conversation'), 'id');
    return id === undefined ? {} : { [ATTR_GEN_AI_CONVERSATION_ID]: id };
  },
};
const EMBEDDINGS: Api = {
  operation: own.OPERATION_EMBEDDINGS,
  reader: () => new EmbeddingsReader(),
  speaks: false,
  attributes: (body) => {
    const dimensions = numberAt(body, 'dimensions');
    const format = stringAt(body, 'encoding_format');
    return {
      ...(dimensions === undefined ? {} : { [own.ATTR_GEN_AI_EMBEDDINGS_DIMENSION_COUNT]: dimensions }),
      ...(format === undefined ? {} : { [own.ATTR_GEN_AI_REQUEST_ENCODING_FORMATS]: [format] }),
    };
  },
};
const COMPLETIONS: Api = {
  operation: own.OPERATION_TEXT_COMPLETION,
  reader: () => new ChatReader(),
  speaks: true,
};

const POINTS: readonly PatchPoint[] = [
  point(['OpenAI', 'Chat', 'Completions'], CHAT),
  point(['OpenAI', 'Responses'], RESPONSES),
  { ...point(['OpenAI', 'Beta', 'Responses'], RESPONSES), optional: true },
  point(['OpenAI', 'Embeddings'], EMBEDDINGS),
  point(['OpenAI', 'Completions'], COMPLETIONS),
];

function point(path: readonly string[], api: Api): PatchPoint {
  return {
    path,
    method: 'create',
    describe: (self, args) => describe(self, args[0], api),
    observe: observeResult,
  };
}

function observeResult(result: unknown, call: ModelCall): void {
  if (!isObject(result)) throw new TypeError('create() gave no promise');
  observeApiPromise(result, call);
}

function describe(self: ApiResource, body: unknown, api: Api): CallDescription | undefined {
  if (!isObject(body)) return undefined;
  const server = serverAddress(self._client?.baseURL);
  const attributes = requestAttributes(body, api.type);
  if (api.attributes !== undefined) Object.assign(attributes, api.attributes(body));
  return {
    operation: api.operation,
    provider: providerOfHost(server?.address) ?? defaultProvider(self),
    model: stringAt(body, 'model'),
    server,
    stream: body.stream === true,
    attributes,
    reader: api.reader(),
    // A stream of audio may end without a reason.
    isWhole: isObject(body.audio) ? undefined : api.isWhole,
    messages: () => (api.speaks ? parseRequest(body) : []),
    tools: body.tools ?? body.functions,
    errorCode,
  };
}

/** Hosts that are not known count as OpenAI's, behind the client for Azure as Azure's: a gateway, a private endpoint. */
function defaultProvider({ _client: client }: ApiResource): string {
  return typeof client?.apiVersion === 'string' ? 'azure.ai.openai' : 'openai';
}

/** `code` names the fault (`model_not_found`); where it is null, as for a failed server, `type` names its kind. */
function errorCode(error: unknown): string | undefined {
  return numberAt(error, 'status') === undefined && objectAt(error, 'error') === undefined
    ? undefined
    : firstCode(stringAt(error, 'code'), stringAt(error, 'type'));
}
