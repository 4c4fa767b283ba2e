import { readOpenAiUsage } from '../../interaction/index.ts';
import { stringAt } from '../../json/index.ts';
import type { ModelResponse, ResponseReader } from '../shared/index.ts';

/** Reads an embeddings response; the vectors themselves are not looked at. */
export class EmbeddingsReader implements ResponseReader {
  #model: string | undefined;
  #usage: unknown;

  whole(value: unknown): void {
    this.#model = stringAt(value, 'model');
    this.#usage = (value as { usage?: unknown } | undefined)?.usage;
  }

  chunk(): void {}

  result(): ModelResponse {
    return {
      model: this.#model,
      finishReasons: [],
      usage: readOpenAiUsage(this.#usage),
      messages: () => [],
      toolCallCount: 0,
    };
  }
}
