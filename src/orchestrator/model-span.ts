/** What the span and the metrics of a model call hold, in the words of the semantic conventions. */
import { type Attributes, type Histogram, metrics, type Span } from '@opentelemetry/api';
import { GEN_AI_DURATION_BUCKETS, GEN_AI_TOKEN_BUCKETS, VERSION } from '../base/index.ts';
import {
  attachConversation,
  type CallContent,
  responseAttributes,
  type Message as SignalMessage,
} from '../interaction/index.ts';
import { type Completion, type ModelMessage, type ModelTool, visibleText } from './providers/index.ts';

type OutputMessage = CallContent['output'][number];

/** Hands over what a model call said, without a completion when it failed. */
export function attachCompletion(
  span: Span,
  provider: string,
  model: string,
  request: readonly ModelMessage[],
  tools: readonly ModelTool[],
  completion: Completion | undefined,
): void {
  const messages = (): SignalMessage[] => request.map(toSignalMessage);
  attachConversation(span, {
    provider,
    messages,
    answer: () => (completion === undefined ? undefined : visibleText(completion.message.parts)),
    model: () => completion?.model ?? model,
    usage: () => completion?.usage,
    costUsd: () => completion?.costUsd,
    serviceTier: () => completion?.serviceTier,
    content: () => ({
      input: messages(),
      output: completion === undefined ? [] : [outputMessage(completion)],
      toolDefinitions: tools.length === 0 ? undefined : tools.map(toolDefinition),
    }),
  });
}

/** The answer of a completion with the reason it ended; the conventions have a word of their own for calls. */
function outputMessage({ message, finishReason }: Completion): OutputMessage {
  return {
    ...toSignalMessage(message),
    finishReason: finishReason === 'tool_calls' ? 'tool_call' : finishReason,
  };
}

/** A tool as `gen_ai.tool.definitions` holds it. */
function toolDefinition({ name, description, parameters }: ModelTool): object {
  return { type: 'function', name, description, parameters };
}

/** A message of the conversation in the words of the semantic conventions. */
function toSignalMessage(message: ModelMessage): SignalMessage {
  switch (message.role) {
    case 'system':
      return { role: 'system', parts: [{ type: 'text', content: message.text }] };
    case 'tool':
      return {
        role: 'tool',
        parts: message.parts.map((part) => ({
          type: 'tool_call_response',
          id: part.id,
          name: part.name,
          response: visibleText(part.content),
          isError: part.isError,
        })),
      };
    default:
      return {
        role: message.role,
        parts: message.parts.flatMap((part): SignalMessage['parts'] => {
          if (part.type === 'text') return [{ type: 'text', content: part.text }];
          if (part.type === 'reasoning') return [{ type: 'reasoning', content: part.text }];
          if (part.type !== 'tool_call') return [];
          return [{ type: 'tool_call', id: part.id, name: part.name, arguments: part.arguments }];
        }),
      };
  }
}

const ATTR_TIME_TO_FIRST_CHUNK = 'gen_ai.response.time_to_first_chunk';
export const ATTR_RETRIES = 'observatory.retries';

/** What the span of a model call says of its answer. */
export function completionAttributes(completion: Completion): Attributes {
  const { model, responseId, usage, rawFinishReason, finishReason, timeToFirstChunkMs, failedAttempts } =
    completion;
  return {
    ...responseAttributes({
      model,
      responseId,
      usage,
      finishReasons: [rawFinishReason ?? finishReason],
    }),
    ...(timeToFirstChunkMs === undefined ? {} : { [ATTR_TIME_TO_FIRST_CHUNK]: timeToFirstChunkMs / 1000 }),
    ...(failedAttempts.length === 0 ? {} : { [ATTR_RETRIES]: failedAttempts.length }),
  };
}

/** The metrics semconv 1.41 asks for of a model call. */
export class CompletionMetrics {
  readonly #duration: Histogram;
  readonly #firstChunk: Histogram;
  readonly #tokens: Histogram;

  constructor() {
    const meter = metrics.getMeter('mcp-observatory', VERSION);
    this.#duration = meter.createHistogram('gen_ai.client.operation.duration', {
      unit: 's',
      description: 'GenAI operation duration, from the call to the end of its response.',
      advice: { explicitBucketBoundaries: [...GEN_AI_DURATION_BUCKETS] },
    });
    this.#firstChunk = meter.createHistogram('gen_ai.client.operation.time_to_first_chunk', {
      unit: 's',
      description: 'Time from the call to the first chunk of a streamed response.',
      advice: { explicitBucketBoundaries: [...GEN_AI_DURATION_BUCKETS] },
    });
    this.#tokens = meter.createHistogram('gen_ai.client.token.usage', {
      unit: '{token}',
      description: 'Number of input and output tokens used.',
      advice: { explicitBucketBoundaries: [...GEN_AI_TOKEN_BUCKETS] },
    });
  }

  record(attributes: Attributes, durationMs: number, completion?: Completion): void {
    this.#duration.record(durationMs / 1000, attributes);
    if (completion?.timeToFirstChunkMs !== undefined) {
      this.#firstChunk.record(completion.timeToFirstChunkMs / 1000, attributes);
    }
    const { inputTokens, outputTokens } = completion?.usage ?? {};
    if (inputTokens !== undefined) {
      this.#tokens.record(inputTokens, { ...attributes, 'gen_ai.token.type': 'input' });
    }
    if (outputTokens !== undefined) {
      this.#tokens.record(outputTokens, { ...attributes, 'gen_ai.token.type': 'output' });
    }
  }
}
