import type { Attributes } from '@opentelemetry/api';
import { InstrumentationNodeModuleDefinition } from '@opentelemetry/instrumentation';
import { semconv } from '../base/index.ts';
import { holdsTextAlone, parseRequest, present } from '../interaction/index.ts';
import {
  isObject,
  type JsonObject,
  numberAt,
  objectAt,
  readObject,
  stringAt,
  stringsAt,
} from '../json/index.ts';
import { readServiceTier } from '../signals/index.ts';
import {
  type Answer,
  type AnswerApi,
  BEDROCK_NAME,
  bedrockConverse,
  bedrockInvoke,
  readInvokeBody,
} from '../wire/index.ts';
import {
  AnswerReader,
  type CallDescription,
  guard,
  type ModelCallSpan,
  ModelInstrumentation,
  type ModelInstrumentationConfig,
  observeApiPromise,
  type PatchPoint,
  type RequestReader,
} from './shared/index.ts';

/** Options of `BedrockInstrumentation`. */
export interface BedrockInstrumentationConfig extends ModelInstrumentationConfig {}

/** Versions of `@aws-sdk/client-bedrock-runtime` that are hooked. */
export const BEDROCK_VERSIONS = '>=3.422.0 <4';

const MODULE = '@aws-sdk/client-bedrock-runtime';

/**
 * Traces `@aws-sdk/client-bedrock-runtime`: `Converse`, `ConverseStream`, `InvokeModel` and
 * `InvokeModelWithResponseStream`, by `send` and by the methods of `BedrockRuntime`. What is observed is `send` of this
 * client alone: its base class is that of every client of AWS.
 */
export class BedrockInstrumentation extends ModelInstrumentation<BedrockInstrumentationConfig> {
  constructor(config: BedrockInstrumentationConfig = {}) {
    super('bedrock', config);
  }

  protected override init(): InstrumentationNodeModuleDefinition[] {
    return [
      new InstrumentationNodeModuleDefinition(MODULE, [BEDROCK_VERSIONS], (exports: unknown, version) => {
        this.patchModule(MODULE, version, exports, [SEND]);
        return exports;
      }),
    ];
  }

  /** Patches a module the hooks do not reach: one that is bundled, or was loaded before. Idempotent. */
  manuallyInstrument(bedrockRuntime: object): void {
    this.patchModule(MODULE, undefined, bedrockRuntime, [SEND]);
  }
}

interface Command {
  readonly api: AnswerApi;
  readonly as: RequestReader;
  /** The request in the form of other providers. */
  readonly readRequest: (input: JsonObject) => JsonObject;
  readonly operationOf: (request: JsonObject, model: string) => string;
  readonly streamIn?: 'stream' | 'body';
}

const SHARED = {
  messages: parseRequest,
  isTextAlone: (request: JsonObject) => holdsTextAlone(request.messages ?? request.prompt),
  continues: () => false,
  speaks: true,
  saysEnd: () => true,
  errorCode: (error: unknown) => bedrockConverse.readError(error)?.code,
  canWait: true,
};

const CONVERSE: Command = {
  api: bedrockConverse,
  readRequest: (input) => input,
  operationOf: () => semconv.GEN_AI_OPERATION_NAME_VALUE_CHAT,
  as: {
    ...SHARED,
    attributes: (input) => requestAttributes(readObject(input.inferenceConfig)),
    tools: (input) => objectAt(input, 'toolConfig')?.tools,
  },
};

const INVOKE: Command = {
  api: bedrockInvoke,
  readRequest: (input) => {
    const body = readInvokeBody(input.body) ?? {};
    // Titan and Nova say `inputText`, Cohere `message` or `texts`.
    return { ...body, prompt: body.prompt ?? body.inputText ?? body.message ?? body.texts };
  },
  operationOf: (request, model) => {
    if (request.messages !== undefined) return semconv.GEN_AI_OPERATION_NAME_VALUE_CHAT;
    if (IS_EMBEDDING.test(model)) return semconv.GEN_AI_OPERATION_NAME_VALUE_EMBEDDINGS;
    return request.prompt === undefined
      ? semconv.GEN_AI_OPERATION_NAME_VALUE_GENERATE_CONTENT
      : semconv.GEN_AI_OPERATION_NAME_VALUE_TEXT_COMPLETION;
  },
  as: {
    ...SHARED,
    attributes: (body) =>
      requestAttributes({
        ...readObject(body.inferenceConfig),
        ...readObject(body.textGenerationConfig),
        ...body,
      }),
    tools: (body) => objectAt(body, 'toolConfig')?.tools ?? body.tools,
  },
};

/** `amazon.titan-embed-text-v2:0`, `cohere.embed-v4:0`: a request for embeddings has the form of one for a text. */
const IS_EMBEDDING = /(?:^|[.-])(?:embed|multimodal-embeddings)/;

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  ['ConverseCommand', CONVERSE],
  ['ConverseStreamCommand', { ...CONVERSE, streamIn: 'stream' }],
  ['InvokeModelCommand', INVOKE],
  ['InvokeModelWithResponseStreamCommand', { ...INVOKE, streamIn: 'body' }],
]);

const SEND: PatchPoint = {
  path: ['BedrockRuntimeClient'],
  method: 'send',
  describe: (_client, [command]) => describe(command),
  observe: (result, call) => {
    // With a callback there is no promise.
    if (result !== undefined) observeApiPromise(result, call);
  },
  withCallback,
};

function describe(command: unknown): CallDescription | undefined {
  const sent = isObject(command) ? COMMANDS.get(command.constructor.name) : undefined;
  const input = objectAt(command, 'input');
  if (sent === undefined || input === undefined) return undefined;
  const { api, as, readRequest, operationOf, streamIn } = sent;
  const model = stringAt(input, 'modelId');
  const request = readRequest(input);
  return {
    operation: operationOf(request, model ?? ''),
    provider: BEDROCK_NAME,
    model: model === undefined ? undefined : modelName(model),
    server: undefined,
    stream: streamIn !== undefined,
    streamIn: streamIn === undefined ? undefined : (output) => readObject(output)[streamIn],
    request,
    as,
    reader: new AnswerReader(api, responseAttributes),
  };
}

/** `us.amazon.nova-lite-v1:0` of the ARN of a model or an inference profile; the ARN of what is named by an id alone. */
function modelName(modelId: string): string {
  return (
    /^arn:[\w:-]{1,80}:(?:foundation-model|inference-profile)\/(?<name>.+)$/.exec(modelId)?.groups?.name ??
    modelId
  );
}

/** The SDK's other form: `send(command, (error, output) => ...)`, with options before the callback or without. */
function withCallback(args: readonly unknown[], call: ModelCallSpan): readonly unknown[] {
  const at = args.findIndex((arg) => typeof arg === 'function');
  if (at === -1) return args;
  const callback = args[at] as (...outcome: unknown[]) => unknown;
  return args.with(at, (error: unknown, output: unknown): unknown => {
    guard('reading a result', () => {
      if (error === null || error === undefined) call.value(output, undefined);
      else call.fail(error);
    });
    return callback(error, output);
  });
}

/** What the SDK says of the request; before a stream too. */
function responseAttributes(_answer: Answer, output: unknown): Attributes {
  const metadata = objectAt(output, '$metadata');
  const attempts = numberAt(metadata, 'attempts') ?? 1;
  return present({
    [semconv.ATTR_GEN_AI_RESPONSE_SERVICE_TIER]: readServiceTier(output),
    [semconv.ATTR_HTTP_RESPONSE_STATUS_CODE]: numberAt(metadata, 'httpStatusCode'),
    [semconv.ATTR_HTTP_REQUEST_RESEND_COUNT]: attempts > 1 ? attempts - 1 : undefined,
  });
}

/** Of `inferenceConfig`, or of the body of a model, which has one of these names for each. */
function requestAttributes(config: JsonObject): Attributes {
  const numberIn = (...names: readonly string[]) =>
    names.map((name) => numberAt(config, name)).find((value) => value !== undefined);
  return present({
    [semconv.ATTR_GEN_AI_REQUEST_MAX_TOKENS]: numberIn(
      'maxTokens',
      'max_tokens',
      'max_new_tokens',
      'max_gen_len',
      'maxTokenCount',
    ),
    [semconv.ATTR_GEN_AI_REQUEST_TEMPERATURE]: numberIn('temperature'),
    [semconv.ATTR_GEN_AI_REQUEST_TOP_P]: numberIn('topP', 'top_p', 'p'),
    [semconv.ATTR_GEN_AI_REQUEST_TOP_K]: numberIn('topK', 'top_k', 'k'),
    [semconv.ATTR_GEN_AI_REQUEST_STOP_SEQUENCES]:
      stringsAt(config, 'stopSequences') ?? stringsAt(config, 'stop_sequences') ?? stringsAt(config, 'stop'),
    [semconv.ATTR_GEN_AI_EMBEDDINGS_DIMENSION_COUNT]: numberIn('dimensions', 'output_dimension'),
  });
}
