import {
  firstText,
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  parseContainer,
  readObject,
  toCount,
  toText,
} from '../../json/index.ts';
import { readUsageObject } from '../../signals/index.ts';
import { anthropicMessages } from '../anthropic/index.ts';
import { type Answer, type AnswerApi, type AnswerStream, readFinishReason } from '../contract/index.ts';
import { openAiChat } from '../openai/index.ts';
import { BEDROCK_NAME, isConverse, readConverse, withLatency } from './converse.ts';
import { ConverseStream } from './converse-stream.ts';

/** Longest body that is read: parsing it holds the event loop. */
const MAX_BODY = 4 * 1024 * 1024;

/** The JSON object in a body, as bytes or text; undefined for anything else and for one that is too long. */
export function readInvokeBody(body: unknown): JsonObject | undefined {
  const text =
    body instanceof Uint8Array && body.byteLength <= MAX_BODY
      ? Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()
      : body;
  const value = typeof text === 'string' && text.length <= MAX_BODY ? parseContainer(text) : undefined;
  return isObject(value) ? value : undefined;
}

/** The forms of the models that other APIs have too: Claude's, Nova's, and that of OpenAI, Mistral, Jamba, DeepSeek. */
const CONVERSE: Pick<AnswerApi, 'recognizes' | 'readAnswer'> = {
  recognizes: isConverse,
  readAnswer: readConverse,
};
const SHARED = [anthropicMessages, CONVERSE, openAiChat];

/** Reads the output of `InvokeModel`: `{body}`, whose form is that of the model. */
export function readInvokeAnswer(whole: unknown): Answer {
  const output = readObject(whole);
  const value = objectAt(output, 'body') instanceof Uint8Array ? readInvokeBody(output.body) : output;
  if (value === undefined) return { provider: BEDROCK_NAME, ...readPlainText({}) };
  const shared = SHARED.find((api) => api.recognizes(value))?.readAnswer(value);
  const measured = readUsageObject(value[METRICS]);
  const { usage, ...answer } = shared ?? readPlainText(value);
  return {
    ...answer,
    provider: BEDROCK_NAME,
    usage: withLatency(
      shared === undefined ? (measured ?? usage) : (usage ?? measured),
      output.performanceConfigLatency,
    ),
    serviceTier: toText(output.serviceTier) ?? answer.serviceTier,
  };
}

/** In the last event of a stream. */
const METRICS = 'amazon-bedrock-invocationMetrics';

/**
 * The forms that only Bedrock has, each with one text: Llama's `{generation}`, Titan's `{results: [{outputText}]}` and
 * `{embedding, inputTextTokenCount}`, Mistral's `{outputs: [{text}]}`, Cohere's `{generations: [{text}]}` and `{text}`,
 * `{completions: [{data: {text}}]}` of AI21. Sources: "Inference request parameters and response fields for foundation
 * models", Amazon Bedrock User Guide.
 */
function readPlainText(value: JsonObject): Answer {
  const [first] = ['results', 'outputs', 'generations', 'completions'].flatMap((name) => listAt(value, name));
  const said = isObject(first) ? first : value;
  const text = firstText(
    said.generation,
    said.outputText,
    said.text,
    readObject(said.data).text,
    said.completion,
  );
  const reason = firstText(
    said.stop_reason,
    said.completionReason,
    said.finish_reason,
    readObject(said.finishReason).reason,
  );
  const inputTokens = toCount(value.prompt_token_count ?? value.inputTextTokenCount);
  const outputTokens = toCount(
    value.generation_token_count ?? said.tokenCount ?? value.totalOutputTextTokenCount,
  );
  return {
    id: toText(value.id ?? value.generation_id),
    finishReasons: reason === undefined ? [] : [reason],
    usage:
      inputTokens === undefined && outputTokens === undefined ? undefined : { inputTokens, outputTokens },
    toolCallCount: 0,
    choices: () =>
      text === undefined
        ? []
        : [
            {
              parts: [{ type: 'text', text }],
              finishReason: readFinishReason(reason),
              rawFinishReason: reason,
            },
          ],
  };
}

/** Assembles the events of `InvokeModelWithResponseStream`, `{chunk: {bytes}}`, in the form of the model. */
export class InvokeStream implements AnswerStream {
  #stream: AnswerStream | undefined;
  #metrics: unknown;

  push(event: unknown): void {
    const chunk = readInvokeBody(objectAt(objectAt(event, 'chunk'), 'bytes'));
    if (chunk === undefined) return;
    this.#metrics = chunk[METRICS] ?? this.#metrics;
    this.#stream ??= readStream(chunk);
    this.#stream.push(chunk);
  }

  get isComplete(): boolean {
    // The last event of any model.
    return this.#metrics !== undefined || this.#stream?.isComplete === true;
  }

  whole(): JsonObject {
    return { ...this.#stream?.whole(), [METRICS]: this.#metrics };
  }
}

const CONVERSE_EVENTS = ['messageStart', 'contentBlockStart', 'contentBlockDelta', 'messageStop', 'metadata'];

function readStream(chunk: JsonObject): AnswerStream {
  if (typeof chunk.type === 'string') return anthropicMessages.newStream();
  if (CONVERSE_EVENTS.some((name) => isObject(chunk[name]))) return new ConverseStream();
  return Array.isArray(chunk.choices) ? openAiChat.newStream() : new PlainTextStream();
}

/** Pieces of one text, in the forms of {@link readPlainText}; counts are running totals. */
class PlainTextStream implements AnswerStream {
  readonly #pieces: string[] = [];
  #length = 0;
  readonly #counts: Record<string, number> = {};
  #reason: string | undefined;

  push(chunk: unknown): void {
    const answer = readPlainText(readObject(chunk));
    const [part] = answer.choices()[0]?.parts ?? [];
    if (part?.type === 'text' && this.#length <= MAX_BODY) {
      this.#length += part.text.length;
      this.#pieces.push(part.text);
    }
    this.#reason = answer.finishReasons[0] ?? this.#reason;
    for (const [name, count] of Object.entries(readObject(chunk))) {
      if (typeof count === 'number') this.#counts[name] = count;
    }
  }

  get isComplete(): boolean {
    return this.#reason !== undefined;
  }

  whole(): JsonObject {
    return { ...this.#counts, text: this.#pieces.join(''), stop_reason: this.#reason };
  }
}
