import { diag } from '@opentelemetry/api';
import {
  checkKinds,
  checkValue,
  kinds,
  ObservatoryError,
  type OptionKinds,
  secret,
} from '../../base/index.ts';
import {
  type Answer,
  AnswerError,
  type Attempt,
  PROVIDERS,
  readFault,
  type WireApi,
  type WireConnection,
  type WireProvider,
} from '../../wire/index.ts';
import type {
  Completion,
  CompletionOptions,
  Provider,
  ProviderFactory,
  ProviderOptions,
} from './provider.ts';
import { scrubKeys } from './provider-error.ts';
import { withRetries } from './retry.ts';

const factories = new Map<string, ProviderFactory>(
  PROVIDERS.map((wire) => [wire.key, (options) => connectProvider(wire, options)]),
);

/**
 * Makes a provider known by name, or replaces the one known by it.
 *
 * @returns a function that restores what was known before.
 */
export function registerProvider(name: string, factory: ProviderFactory): () => void {
  if (name.trim() === '') {
    throw new ObservatoryError('INVALID_OPTION', 'Expected a provider name, got an empty one');
  }
  const before = factories.get(name);
  factories.set(name, factory);
  return () => {
    if (before === undefined) factories.delete(name);
    else factories.set(name, before);
  };
}

function providerNames(): string[] {
  return [...factories.keys()];
}

/** Others may be for a provider of the application. */
const OPTIONS: OptionKinds<ProviderOptions> = {
  model: kinds.string,
  retry: kinds.object,
  idleTimeoutMs: kinds.number,
  wait: kinds.function,
  apiKey: secret(kinds.string),
  baseUrl: kinds.string,
  api: kinds.string,
  fetch: kinds.function,
  env: kinds.object,
};

/**
 * Makes a provider by name.
 *
 * @throws ObservatoryError `INVALID_OPTION` for an unknown name, `API_KEY_MISSING`, `MISSING_PEER`.
 */
export async function createProvider(name: string, options: ProviderOptions = {}): Promise<Provider> {
  checkValue('the name of createProvider()', name, kinds.string);
  checkKinds(options, OPTIONS, 'createProvider()');
  const factory = factories.get(name);
  if (factory === undefined) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `Unknown provider ${JSON.stringify(name)}; known are ${providerNames().join(', ')} (see registerProvider)`,
    );
  }
  return await factory(options);
}

/** Connects to a provider and speaks its API for the orchestrator. */
async function connectProvider(wire: WireProvider, options: ProviderOptions): Promise<Provider> {
  const connection = await wire.connect(options);
  const defaultModel = options.model ?? wire.defaultModel;
  return {
    name: wire.name,
    defaultModel,
    toolDialect: wire.toolDialect,
    serverAddress: connection.serverAddress,
    createCompletion: async (messages, tools, callOptions = {}) => {
      const model = callOptions.model ?? defaultModel;
      const api = connection.apiFor(model);
      const request = api.writeRequest({ ...callOptions, model, messages, tools });
      return await complete(
        { provider: wire.name, connection, api, request, settings: options },
        callOptions,
      );
    },
  };
}

interface ProviderRequest {
  readonly provider: string;
  readonly connection: WireConnection;
  readonly api: WireApi;
  readonly request: object;
  readonly settings: ProviderOptions;
}

interface Received {
  readonly whole: unknown;
  readonly answer: Answer;
}

/** Makes a request under the retry policy, streaming unless told not to, and reads the answer. */
async function complete(
  { provider, connection, api, request, settings }: ProviderRequest,
  options: CompletionOptions,
): Promise<Completion> {
  const { value, failedAttempts, timeToFirstChunkMs } = await withRetries<Received>(
    provider,
    settings,
    options,
    async (attempt) =>
      options.stream === false
        ? readWhole(api, await connection.send(api, request, attempt))
        : await readStream(api, await connection.stream(api, request, attempt), attempt, options),
    (error, headers) => {
      const fault = readFault(error, api, headers);
      return { ...fault, message: scrubKeys(fault.message, connection.apiKey) };
    },
  );
  const { whole, answer } = value;
  const [choice] = answer.choices();
  return {
    message: { role: 'assistant', parts: choice?.parts ?? [] },
    finishReason: choice?.finishReason ?? 'other',
    rawFinishReason: choice?.rawFinishReason,
    usage: answer.usage,
    costUsd: answer.costUsd,
    serviceTier: answer.serviceTier,
    model: answer.model,
    responseId: answer.id,
    failedAttempts,
    timeToFirstChunkMs,
    wire: { request, response: whole },
  };
}

/** @throws AnswerError for an error in place of an answer. */
function readWhole(api: WireApi, whole: unknown): Received {
  const answer = api.readAnswer(whole);
  if (answer.error !== undefined) throw new AnswerError(answer.error);
  return { whole, answer };
}

async function readStream(
  api: WireApi,
  chunks: AsyncIterable<unknown>,
  attempt: Attempt,
  { onDelta }: CompletionOptions,
): Promise<Received> {
  const stream = api.newStream();
  const report = onDelta === undefined ? undefined : guarded(onDelta);
  for await (const chunk of chunks) {
    attempt.onChunk();
    stream.push(chunk, report);
  }
  // The SDKs end a stream quietly on abort; the half answer must not pass for a whole one.
  attempt.signal.throwIfAborted();
  const received = readWhole(api, stream.whole());
  if (!stream.isComplete) throw new Error('terminated: the stream ended before the answer did');
  return received;
}

function guarded(onDelta: NonNullable<CompletionOptions['onDelta']>): typeof onDelta {
  return (delta) => {
    try {
      onDelta(delta);
    } catch (error) {
      diag.warn(`mcp-observatory: onDelta threw: ${(error as Error).message}`);
    }
  };
}
