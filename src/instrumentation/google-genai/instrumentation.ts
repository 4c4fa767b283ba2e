import { InstrumentationNodeModuleDefinition } from '@opentelemetry/instrumentation';
import { parseRequest } from '../../interaction/index.ts';
import { isObject, objectAt } from '../../json/index.ts';
import { geminiContent } from '../../wire/index.ts';
import type { CallDescription, ModelCall } from '../shared/index.ts';
import {
  AnswerReader,
  ModelInstrumentation,
  observeApiPromise,
  type PatchPoint,
  serverAddress,
} from '../shared/index.ts';
import * as own from '../shared/semconv.ts';
import { EmbeddingsReader } from './embeddings-reader.ts';
import type { ModelsModule } from './internal-types.ts';
import { modelName, requestAttributes } from './request.ts';
import type { GoogleGenAIInstrumentationConfig } from './types.ts';

/** Versions of `@google/genai` that are hooked. */
export const GOOGLE_GENAI_VERSIONS = '>=1.0.0 <4';

const MODULE = '@google/genai';

/**
 * Traces `@google/genai`: `generateContent`, `generateContentStream`, chats and `embedContent`.
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
];

function point(method: string, call: Call): PatchPoint {
  return {
    path: ['Models'],
    method,
    describe: (self, args) => describe(self, args[0], call),
    observe: observeResult,
  };
}

function observeResult(result: unknown, call: ModelCall): void {
  if (!isObject(result)) throw new TypeError('The call gave no promise');
  observeApiPromise(result, call);
}

function describe(self: ModelsModule, params: unknown, call: Call): CallDescription | undefined {
  if (!isObject(params)) return undefined;
  const config = objectAt(params, 'config');
  const isEmbedding = call === 'embed';
  return {
    operation: isEmbedding ? own.OPERATION_EMBEDDINGS : own.OPERATION_GENERATE_CONTENT,
    provider: self.apiClient?.isVertexAI?.() === true ? 'gcp.vertex_ai' : 'gcp.gemini',
    model: modelName(params),
    server: serverAddress(objectAt(config, 'httpOptions')?.baseUrl ?? self.apiClient?.getBaseUrl?.()),
    stream: call === 'stream',
    attributes: requestAttributes(params, call === 'stream'),
    reader: isEmbedding ? new EmbeddingsReader() : new AnswerReader(geminiContent),
    messages: () => (isEmbedding ? [] : parseRequest(params)),
    tools: config?.tools,
    errorCode,
  };
}

/** The status in Google's words (`NOT_FOUND`, `RESOURCE_EXHAUSTED`), else the HTTP status. */
function errorCode(error: unknown): string | undefined {
  const report = geminiContent.readError(error);
  return report?.code ?? report?.status?.toString();
}
