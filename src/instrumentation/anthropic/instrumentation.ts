import { type Attributes, context } from '@opentelemetry/api';
import { InstrumentationNodeModuleDefinition } from '@opentelemetry/instrumentation';
import { semconv } from '../../base/index.ts';
import { findOuterCall, holdsTextAlone, parseRequest, present } from '../../interaction/index.ts';
import { isObject, type JsonObject, numberAt, objectAt, stringAt, stringsAt } from '../../json/index.ts';
import { type Answer, anthropicMessages } from '../../wire/index.ts';
import {
  AnswerReader,
  beforeMethod,
  type CallDescription,
  guard,
  type ModelCallSpan,
  ModelInstrumentation,
  type ModelInstrumentationConfig,
  moduleFiles,
  noteRetry,
  observeApiPromise,
  type PatchPoint,
  providerOfHost,
  type RequestReader,
  serverAddress,
} from '../shared/index.ts';
import {
  type ApiClient,
  hideTracer,
  restoreTracer,
  suppressNativeSpans,
  takeNativeSpan,
  tracesItself,
  watchNativeSpans,
} from './native-span.ts';

/** Options of `AnthropicInstrumentation`. */
export interface AnthropicInstrumentationConfig extends ModelInstrumentationConfig {
  /**
   * What to do where the SDK traces its calls itself, which it does since 0.134 unless its option `openTelemetry` or
   * `ANTHROPIC_OPEN_TELEMETRY=false` says otherwise:
   * - `prefer`: its span stays the only one; it is given what it lacks, and the metrics are recorded.
   * - `suppress`: its spans are switched off for each client that makes a call, and ours is the only one.
   * - `both`: two spans a call, ours outside. Usage and cost then count twice.
   *
   * Its spans go to the global tracer provider. With a provider set on this instrumentation alone, use `suppress`.
   * @default 'prefer'
   */
  native?: 'prefer' | 'suppress' | 'both' | undefined;
}

/** Versions of `@anthropic-ai/sdk` that are hooked. */
export const ANTHROPIC_VERSIONS = '>=0.20.0 <2';

const MODULE = '@anthropic-ai/sdk';
const MESSAGES: readonly (readonly string[])[] = [
  ['Anthropic', 'Messages'],
  ['Anthropic', 'Beta', 'Messages'],
];

/** Where the classes are until there is a module `client`, which has both. */
const FILES_BEFORE_CLIENT = [
  'resources/messages',
  'resources/messages/messages',
  'resources/beta/messages/messages',
];
const VERSIONS_BEFORE_CLIENT = '>=0.20.0 <0.51.0';

/**
 * Traces `@anthropic-ai/sdk`: messages and beta messages, plain and streamed, and the helpers that go through them
 * (`parse`, `stream`, `toolRunner`), also by the clients that build on it: `@anthropic-ai/bedrock-sdk` and
 * `@anthropic-ai/vertex-sdk`. Where the SDK traces itself, see the option `native`.
 */
export class AnthropicInstrumentation extends ModelInstrumentation<AnthropicInstrumentationConfig> {
  constructor(config: AnthropicInstrumentationConfig = {}) {
    super('anthropic', config);
  }

  protected override init(): InstrumentationNodeModuleDefinition[] {
    const patch = (classes: readonly (readonly string[])[]) => (exports: unknown, version?: string) => {
      watchClient(exports);
      const points = patchPoints(classes, () => this.getConfig());
      this.patchModule(MODULE, version, exports, points);
      return exports;
    };
    const files = [
      ...moduleFiles(`${MODULE}/client`, [ANTHROPIC_VERSIONS], patch(MESSAGES)),
      ...FILES_BEFORE_CLIENT.flatMap((file) =>
        moduleFiles(`${MODULE}/${file}`, [VERSIONS_BEFORE_CLIENT], patch([['Messages']])),
      ),
    ];
    return [
      new InstrumentationNodeModuleDefinition(
        MODULE,
        [ANTHROPIC_VERSIONS],
        patch(MESSAGES),
        undefined,
        files,
      ),
    ];
  }

  /**
   * Patches a module the hooks do not reach: one that is bundled, or was loaded before. Idempotent. The clients for
   * Bedrock and Vertex AI are traced with the copy of `@anthropic-ai/sdk` that they build on: hand that over.
   */
  manuallyInstrument(anthropic: object): void {
    // The class has a static named Anthropic too, its base class; a module may be a function, which makes clients.
    const isClass = typeof anthropic === 'function' && 'Messages' in anthropic;
    const exports = isClass ? { Anthropic: anthropic } : anthropic;
    watchClient(exports);
    const points = patchPoints(MESSAGES, () => this.getConfig());
    this.patchModule(MODULE, undefined, exports, points);
  }
}

function watchClient(exports: unknown): void {
  guard(`patching ${MODULE}`, () => {
    watchNativeSpans(exports);
    beforeMethod(exports, 'Anthropic', 'retryRequest', noteRetry);
  });
}

/** What a module needs to have patched: functions, for the base constructor may call before private methods exist. */
function patchPoints(
  classes: readonly (readonly string[])[],
  config: () => AnthropicInstrumentationConfig,
): PatchPoint[] {
  const describe: PatchPoint['describe'] = (self, args) => describeCall(self, args[0], config());
  const helper: PatchPoint['describe'] = (self) => prepareHelper(self, config());
  return classes.flatMap((path): PatchPoint[] => [
    { path, method: 'create', describe, observe },
    // These start a native span before they call `create`.
    { path, method: 'stream', describe: helper, observe, optional: true },
    { path, method: 'toolRunner', describe: helper, observe, optional: true },
  ]);
}

function prepareHelper(self: ApiResource, config: AnthropicInstrumentationConfig): undefined {
  if (config.native === 'suppress') suppressNativeSpans(self._client);
  hideTracerFromOuterCall(self);
}

/** Where an outer span represents this call already, the SDK's own would be a duplicate. */
function hideTracerFromOuterCall({ _client: client }: ApiResource): void {
  if (client !== undefined && tracesItself(client) && findOuterCall(context.active()) !== undefined)
    hideTracer(client);
}

function describeCall(
  self: ApiResource,
  body: unknown,
  config: AnthropicInstrumentationConfig,
): CallDescription | undefined {
  if (!isObject(body)) return undefined;
  const native = config.native ?? 'prefer';
  if (native === 'suppress') suppressNativeSpans(self._client);
  takeNativeSpan();
  hideTracerFromOuterCall(self);
  const server = serverAddress(self._client?.baseURL);
  return {
    operation: semconv.GEN_AI_OPERATION_NAME_VALUE_CHAT,
    provider: findProvider(self._client, server?.address),
    model: stringAt(body, 'model'),
    server,
    stream: body.stream === true,
    request: body,
    as: REQUESTS,
    reader: new AnswerReader(anthropicMessages, responseAttributes),
    hasNativeSpan: native === 'prefer' && tracesItself(self._client),
  };
}

/** The clients for other platforms, by a field that none but they have; since about 1.0 each names its platform. */
const PLATFORMS: readonly (readonly [field: string, provider: string])[] = [
  ['awsRegion', 'aws.bedrock'],
  // Of `@anthropic-ai/vertex-sdk`.
  ['projectId', 'gcp.vertex_ai'],
];

/** Who answers: as the client says, else by its host or class, which may be reached through a gateway. */
function findProvider(client: ApiClient | undefined, host: string | undefined): string {
  const named = client?._genAIProviderName;
  if (typeof named === 'string' && named !== 'anthropic') return named;
  const platform = PLATFORMS.find(([field]) => client !== undefined && field in client)?.[1];
  return providerOfHost(host) ?? platform ?? 'anthropic';
}

const REQUESTS: RequestReader = {
  attributes: requestAttributes,
  messages: parseRequest,
  tools: (body) => body.tools,
  isTextAlone: (body) => holdsTextAlone(body.messages),
  continues: () => false,
  speaks: true,
  saysEnd: () => true,
  errorCode: (error) => anthropicMessages.readError(error)?.code,
  canWait: true,
};

function observe(result: unknown, call: ModelCallSpan): void {
  restoreTracer();
  const native = takeNativeSpan();
  if (call.awaitsNativeSpan) call.adopt(native);
  observeApiPromise(result, call, native !== undefined);
}

function responseAttributes({ serviceTier }: Answer): Attributes {
  return present({ [semconv.ATTR_ANTHROPIC_RESPONSE_SERVICE_TIER]: serviceTier });
}

function requestAttributes(body: JsonObject): Attributes {
  const format = objectAt(objectAt(body, 'output_config'), 'format') ?? objectAt(body, 'output_format');
  return present({
    [semconv.ATTR_GEN_AI_REQUEST_MAX_TOKENS]: numberAt(body, 'max_tokens'),
    [semconv.ATTR_GEN_AI_REQUEST_TEMPERATURE]: numberAt(body, 'temperature'),
    [semconv.ATTR_GEN_AI_REQUEST_TOP_P]: numberAt(body, 'top_p'),
    [semconv.ATTR_GEN_AI_REQUEST_TOP_K]: numberAt(body, 'top_k'),
    [semconv.ATTR_GEN_AI_REQUEST_STOP_SEQUENCES]: stringsAt(body, 'stop_sequences'),
    [semconv.ATTR_GEN_AI_REQUEST_STREAM]: body.stream === true ? true : undefined,
    [semconv.ATTR_GEN_AI_OUTPUT_TYPE]: stringAt(format, 'type') === 'json_schema' ? 'json' : undefined,
  });
}

/** The fields of an API resource of the SDK (`client.messages`, `client.beta.messages`) that are read. */
interface ApiResource {
  readonly _client?: ApiClient;
}
