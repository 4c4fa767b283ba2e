import { listAt, numberAt, objectAt, sumOf } from '../../json/index.ts';
import { geminiContent } from '../../wire/index.ts';
import type { ModelResponse, ResponseReader } from '../shared/index.ts';

/** Reads an `EmbedContentResponse`; Vertex counts the tokens of each text apart, Gemini may not count at all. */
export class EmbeddingsReader implements ResponseReader {
  #response: unknown;

  whole(value: unknown): void {
    this.#response = value;
  }

  chunk(): void {}

  result(): ModelResponse {
    const counts = listAt(this.#response, 'embeddings').map((embedding) =>
      numberAt(objectAt(embedding, 'statistics'), 'tokenCount'),
    );
    const inputTokens = sumOf(...counts);
    const usage = geminiContent.readUsage(objectAt(this.#response, 'usageMetadata'));
    return {
      finishReasons: [],
      usage: usage ?? (inputTokens === undefined ? undefined : { inputTokens }),
      messages: () => [],
      toolCallCount: 0,
    };
  }
}
