import type { JsonObject } from '../../json/index.ts';
import type { Answer, AnswerApi, AnswerDelta, AnswerStream, Choice } from './types.ts';

const NO_ANSWER: Answer = Object.freeze({
  finishReasons: Object.freeze([]),
  toolCallCount: 0,
  choices: () => [],
});

/**
 * Makes an API whose readers never throw, not even when a getter of the value does, and whose answers compose their
 * choices once. So the readers of a provider need no guards of their own.
 */
export function defineApi<Api extends AnswerApi>(api: Api): Api {
  return Object.freeze({
    ...api,
    recognizes: (value: JsonObject) => attempt(() => api.recognizes(value), false),
    readAnswer: (whole: unknown) => attempt(() => composedOnce(api.readAnswer(whole)), NO_ANSWER),
    readError: (error: unknown) => attempt(() => api.readError(error), undefined),
    newStream: () => new GuardedStream(api.newStream()),
  });
}

function composedOnce(answer: Answer): Answer {
  let composed: readonly Choice[] | undefined;
  const choices = (): readonly Choice[] => {
    composed ??= attempt(answer.choices, []);
    return composed;
  };
  return { ...answer, choices };
}

class GuardedStream implements AnswerStream {
  readonly #stream: AnswerStream;

  constructor(stream: AnswerStream) {
    this.#stream = stream;
  }

  push(chunk: unknown, onDelta?: (delta: AnswerDelta) => void): void {
    try {
      this.#stream.push(chunk, onDelta);
    } catch {
      // A chunk that cannot be read adds nothing.
    }
  }

  get isComplete(): boolean {
    return this.#stream.isComplete;
  }

  whole(): JsonObject {
    return attempt(() => this.#stream.whole(), {});
  }
}

function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
