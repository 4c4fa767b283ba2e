import { isExactInteger } from '../../json/index.ts';

/**
 * A `fetch` whose successful answers hold integers that no double holds as texts: the SDKs parse arguments of calls
 * themselves, and would round an id.
 */
export function withExactAnswers(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    if (!response.ok || response.body === null) return response;
    const { status, statusText, headers, url } = response;
    const integers = new LargeIntegers();
    // One stream: each costs more than a short answer.
    const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
    const quoted = new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, controller) =>
        controller.enqueue(encoder.encode(integers.quote(decoder.decode(bytes, { stream: true })))),
      flush: (controller) =>
        controller.enqueue(encoder.encode(integers.quote(decoder.decode()) + integers.rest())),
    });
    const copy = new Response(response.body.pipeThrough(quoted), { status, statusText, headers });
    return Object.defineProperty(copy, 'url', { value: url });
  };
}

/** Encloses large integers in the JSON of a text that comes in pieces: a body, or the lines of an event stream. */
class LargeIntegers {
  #inText = false;
  #isEscaped = false;
  /** A number that may go on in the next piece. */
  #number = '';

  quote(text: string): string {
    let out = '';
    for (const char of text) {
      if (!this.#inText && NUMBER_CHARS.includes(char)) {
        this.#number += char;
        continue;
      }
      out += this.rest() + char;
      if (this.#isEscaped) this.#isEscaped = false;
      else if (char === '\\') this.#isEscaped = this.#inText;
      else if (char === '"') this.#inText = !this.#inText;
      // No text of JSON goes over a line.
      else if (char === '\n') this.#inText = false;
    }
    return out;
  }

  rest(): string {
    const number = this.#number;
    this.#number = '';
    return isExactInteger(number) ? `"${number}"` : number;
  }
}

const NUMBER_CHARS = '-+.0123456789eE';
