/** Answers to a server's own requests, sent a few at a time over HTTP. */
import type { AnswerBacklog } from './answer-backlog.ts';

type Fetch = typeof fetch;

/** Answers on their way at once; each is a POST of its own. */
const MAX_AT_ONCE = 8;

/** How the SDKs begin an answer; requests and notifications begin with their method. */
const ANSWER = /^\{(?:"jsonrpc":"2\.0",)?(?:"id":(?:\d{1,20}|"[^"]{0,200}"),)?"(?:result|error)":/;

interface Waiting {
  /** Fires when the transport is closed. */
  readonly signal: AbortSignal | null | undefined;
  readonly send: () => void;
  readonly drop: () => void;
}

/**
 * Sends answers a few at a time. A server may ask ten thousand things at once, and the SDKs would open a connection for
 * each answer. Requests of our own do not wait.
 *
 * An answer that is still waiting when the transport is closed is dropped: its promise never settles, and nobody needs
 * it to. To reject a thousand of them would hold the event loop.
 */
export function answersInTurn(send: Fetch, backlog: AnswerBacklog): Fetch {
  let open = 0;
  const waiting: Waiting[] = [];
  const startNext = (): void => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (next.signal?.aborted !== true) {
        next.send();
        return;
      }
      next.drop();
    }
    open -= 1;
  };
  const sendInTurn = async (...[input, init]: Parameters<Fetch>): Promise<Response> => {
    // Only a large batch gets here: reading stops long before.
    if (backlog.isOverfull) throw new Error('The server waits for too many answers at once');
    const taken = backlog.add(String(init?.body).length);
    if (open >= MAX_AT_ONCE) {
      await new Promise<void>((resolve) =>
        waiting.push({ signal: init?.signal, send: resolve, drop: taken }),
      );
    } else {
      open += 1;
    }
    try {
      return await send(input, init);
    } finally {
      taken();
      startNext();
    }
  };
  return (input, init) =>
    typeof init?.body === 'string' && ANSWER.test(init.body.slice(0, 300))
      ? sendInTurn(input, init)
      : send(input, init);
}
