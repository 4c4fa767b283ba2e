/** Answers to a server's own requests, sent a few at a time over HTTP. */

type Fetch = typeof fetch;

/** Answers on their way at once; each is a POST of its own. */
const MAX_AT_ONCE = 8;
/** Answers that wait for their turn. A server that asks for more at once gets no answer to the rest. */
const MAX_WAITING = 1000;

/** How the SDKs begin an answer; requests and notifications begin with their method. */
const ANSWER = /^\{(?:"jsonrpc":"2\.0",)?(?:"id":(?:\d{1,20}|"[^"]{0,200}"),)?"(?:result|error)":/;

/**
 * Sends answers a few at a time. A server may ask ten thousand things at once, and the SDKs would open a connection for
 * each answer. Requests of our own do not wait.
 */
export function answersInTurn(send: Fetch): Fetch {
  let open = 0;
  const waiting: (() => void)[] = [];
  return async (input, init) => {
    if (typeof init?.body !== 'string' || !ANSWER.test(init.body.slice(0, 300))) return send(input, init);
    if (open >= MAX_AT_ONCE) {
      if (waiting.length >= MAX_WAITING) throw new Error('The server waits for too many answers at once');
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      open += 1;
    }
    try {
      return await send(input, init);
    } finally {
      const next = waiting.shift();
      if (next === undefined) open -= 1;
      else next();
    }
  };
}
