import { isObject, type JsonObject, objectAt, readObject, stringAt, toText } from '../../json/index.ts';
import { readUsageObject } from '../../signals/index.ts';
import { type AnswerApi, type AnswerStream, defineApi, StreamRoom, TextBuffer } from '../contract/index.ts';
import { readAnswerError, readOpenAiError } from './error.ts';

/** Images, transcriptions, translations and speech: what is made is no text, but for a transcript. */
export const openAiMedia: AnswerApi = defineApi({
  name: 'openai.media',
  recognizes: () => false,
  readAnswer: (whole) => {
    // A transcript in a format of subtitles is a bare text.
    const value = typeof whole === 'string' ? { text: whole } : readObject(whole);
    const text = toText(value.text);
    return {
      provider: 'openai',
      finishReasons: [],
      usage: readUsageObject(value.usage),
      error: readAnswerError(value.error),
      toolCallCount: 0,
      choices: () =>
        text === undefined ? [] : [{ parts: [{ type: 'text', text }], finishReason: 'stop' as const }],
    };
  },
  newStream: () => new MediaStream(),
  readError: readOpenAiError,
});

/** The last event of any of them: `image_generation.completed`, `transcript.text.done`, `speech.audio.done`. */
const IS_LAST = /\.(?:completed|done)$/;

/** Keeps the text and the usage of a stream, no image and no sound. */
class MediaStream implements AnswerStream {
  readonly #text = new TextBuffer(new StreamRoom());
  #last: JsonObject | undefined;
  #error: JsonObject | undefined;

  push(event: unknown): void {
    const type = stringAt(event, 'type') ?? '';
    if (type === 'transcript.text.delta') this.#text.push(stringAt(event, 'delta'));
    else if (type === 'error') this.#error = objectAt(event, 'error');
    else if (IS_LAST.test(type) && isObject(event)) this.#last = { text: event.text, usage: event.usage };
  }

  get isComplete(): boolean {
    return this.#last !== undefined;
  }

  whole(): JsonObject {
    const text = toText(this.#last?.text) ?? (this.#text.isEmpty ? undefined : this.#text.toString());
    return { text, usage: this.#last?.usage, error: this.#error };
  }
}
