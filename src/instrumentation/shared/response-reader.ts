import type { Attributes } from '@opentelemetry/api';
import { type OutputMessage, outputMessages } from '../../interaction/index.ts';
import { isObject, type KeptValues } from '../../json/index.ts';
import type { TokenUsage } from '../../signals/index.ts';
import { type Answer, type AnswerApi, type AnswerStream, errorWord } from '../../wire/index.ts';

/** What a provider's response said, in the words of semconv 1.41. */
export interface ModelResponse {
  readonly id?: string | undefined;
  readonly model?: string | undefined;
  /** One per choice, in the provider's own words; in those of the conventions for an API that has none of its own. */
  readonly finishReasons: readonly string[];
  readonly usage?: TokenUsage | undefined;
  /** What the provider says the call cost, in US dollars (OpenRouter). */
  readonly costUsd?: number | undefined;
  /** Tier that served the call, in the provider's words. */
  readonly serviceTier?: string | undefined;
  /** Composed when they are asked for, which nobody does where neither content nor signals are wanted. */
  readonly messages: () => readonly OutputMessage[];
  /** Calls the application is asked to make, over all choices. */
  readonly toolCallCount: number;
  readonly attributes?: Attributes | undefined;
  /** Set when the response itself reports a failure, under a successful HTTP status. */
  readonly errorType?: string | undefined;
}

/**
 * Reads the response of one call: `whole` once, or `chunk` for each chunk of a stream; `result` may be asked for at
 * any time, also in mid-stream.
 */
export interface ResponseReader {
  whole(value: unknown): void;
  chunk(value: unknown): void;
  result(): ModelResponse;
  readonly isComplete: boolean;
  /** The answer in the provider's form, as far as it has come. */
  soFar?(): unknown;
  /** Keeps a whole response as it is now, for a later {@link result}. */
  keep(values: KeptValues): void;
}

/** Reads the response of a call to an API that `src/wire` knows. */
export class AnswerReader implements ResponseReader {
  readonly #api: AnswerApi;
  readonly #attributesOf: ((answer: Answer, whole: unknown) => Attributes) | undefined;
  #whole: unknown;
  #stream: AnswerStream | undefined;

  /** @param attributesOf gives the attributes of this provider only; what came before a stream is `whole` to it. */
  constructor(api: AnswerApi, attributesOf?: (answer: Answer, whole: unknown) => Attributes) {
    this.#api = api;
    this.#attributesOf = attributesOf;
  }

  whole(value: unknown): void {
    this.#whole = value;
  }

  chunk(value: unknown): void {
    this.#stream ??= this.#api.newStream();
    this.#stream.push(value);
  }

  get isComplete(): boolean {
    return this.#stream?.isComplete === true;
  }

  soFar(): unknown {
    return this.#stream?.whole() ?? this.#whole;
  }

  /** Of a stream there is nothing that the application could change. */
  keep(values: KeptValues): void {
    if (this.#stream === undefined && isObject(this.#whole)) this.#whole = values.keepFields(this.#whole);
  }

  result(): ModelResponse {
    const whole = this.soFar();
    const answer = this.#api.readAnswer(whole);
    const { id, model, finishReasons, usage, costUsd, serviceTier, toolCallCount } = answer;
    return {
      id,
      model,
      finishReasons,
      usage,
      costUsd,
      serviceTier,
      messages: () => outputMessages(answer),
      toolCallCount,
      attributes: this.#attributesOf?.(answer, this.#whole ?? whole),
      errorType: answer.error === undefined ? undefined : errorWord(answer.error),
    };
  }
}
