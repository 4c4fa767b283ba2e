import { diag } from '@opentelemetry/api';
import {
  type Answer,
  AnswerError,
  type Attempt,
  readFault,
  type WireApi,
  type WireConnection,
  type WireProvider,
} from '../../wire/index.ts';
import type { Completion, CompletionOptions, Provider, ProviderOptions } from './provider.ts';
import { scrubKeys } from './provider-error.ts';
import { withRetries } from './retry.ts';

/** Connects to a provider and speaks its API for the orchestrator. */
export async function connectProvider(wire: WireProvider, options: ProviderOptions): Promise<Provider> {
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
      return await complete(wire.name, connection, api, request, options, callOptions);
    },
  };
}

interface Received {
  readonly whole: unknown;
  readonly answer: Answer;
}

/** Makes a request under the retry policy, streaming unless told not to, and reads the answer. */
async function complete(
  provider: string,
  connection: WireConnection,
  api: WireApi,
  request: object,
  settings: ProviderOptions,
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
      diag.warn(`onDelta threw: ${(error as Error).message}`);
    }
  };
}
