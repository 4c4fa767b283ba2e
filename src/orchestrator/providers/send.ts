import { diag } from '@opentelemetry/api';
import type { TokenUsage } from '../../signals/index.ts';
import type { AnswerDelta, AssistantMessage, Attempt, FinishReason } from '../../wire/index.ts';
import { classifyError } from './classify-error.ts';
import type { Completion, CompletionOptions, ProviderOptions } from './provider.ts';
import { withRetries } from './retry.ts';

/** What an adapter reads from an answer, before the facts about the transfer are added. */
export interface ParsedResponse {
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  readonly rawFinishReason?: string | undefined;
  readonly usage?: TokenUsage | undefined;
  readonly model?: string | undefined;
  readonly responseId?: string | undefined;
}

/** A stream being put together into one response. */
export interface StreamAssembler<Chunk, Response> {
  push(chunk: Chunk): readonly AnswerDelta[];
  readonly isComplete: boolean;
  toResponse(): Response;
}

/** One provider's way to make a request, in the parts that differ. */
export interface Exchange<Request, Chunk, Response> {
  readonly provider: string;
  readonly apiKey: string;
  readonly request: Request;
  once(request: Request, attempt: Attempt): Promise<Response>;
  stream(request: Request, attempt: Attempt): Promise<AsyncIterable<Chunk>>;
  newAssembler(): StreamAssembler<Chunk, Response>;
  parse(response: Response): ParsedResponse;
}

/** Makes a request under the retry policy, streaming unless told not to, and reads the answer. */
export async function send<Request, Chunk, Response>(
  exchange: Exchange<Request, Chunk, Response>,
  settings: ProviderOptions,
  options: CompletionOptions,
): Promise<Completion> {
  const { provider, apiKey, request } = exchange;
  const outcome = await withRetries(
    provider,
    settings,
    options,
    async (attempt) => {
      if (options.stream === false) return await exchange.once(request, attempt);
      const assembler = exchange.newAssembler();
      const chunks = await exchange.stream(request, attempt);
      for await (const chunk of chunks) {
        attempt.onChunk();
        const deltas = assembler.push(chunk);
        if (options.onDelta !== undefined) report(deltas, options.onDelta);
      }
      // The SDKs end a stream quietly on abort; the half answer must not pass for a whole one.
      attempt.signal.throwIfAborted();
      if (!assembler.isComplete) throw new Error('terminated: the stream ended before the answer did');
      return assembler.toResponse();
    },
    (error, headers) => classifyError(error, apiKey, headers),
  );
  return {
    ...exchange.parse(outcome.value),
    failedAttempts: outcome.failedAttempts,
    timeToFirstChunkMs: outcome.timeToFirstChunkMs,
    wire: { request, response: outcome.value },
  };
}

function report(deltas: readonly AnswerDelta[], onDelta: (delta: AnswerDelta) => void): void {
  for (const delta of deltas) {
    try {
      onDelta(delta);
    } catch (error) {
      diag.warn(`onDelta threw: ${(error as Error).message}`);
    }
  }
}
