import { beginningOfJson } from '../json/index.ts';

const MAX_REQUESTS = 32;
/** Characters of all requests, each counted up to a megabyte. */
const MAX_CHARS = 8 * 1024 * 1024;
const MAX_COUNTED = 1024 * 1024;

/**
 * The requests of one server that are being answered, by a model or a person, say. Those beyond a bound are refused: the
 * server could ask without end, and each would be held, and paid for, until it is answered.
 */
export class RequestsAtOnce {
  #requests = 0;
  #chars = 0;

  /** @throws Error when too many requests are being answered already. */
  async answer<T>(params: unknown, answer: () => Promise<T>): Promise<T> {
    const chars = beginningOfJson(params, MAX_COUNTED).length;
    if (this.#requests >= MAX_REQUESTS || (this.#requests > 0 && this.#chars + chars > MAX_CHARS))
      throw new Error('Too many requests at once: wait until some of them are answered');
    this.#requests += 1;
    this.#chars += chars;
    try {
      return await answer();
    } finally {
      this.#requests -= 1;
      this.#chars -= chars;
    }
  }
}
