/** Watches the bodies of HTTP responses: how large their messages get, and when they end. */

const LF = 0x0a;
const CR = 0x0d;

/** The same response, with a call when its body has ended in any way. */
export function observeEnd(response: Response, onEnd: () => void): Response {
  return withBody(response, () => undefined, onEnd);
}

/**
 * The same response, whose body fails when a message in it is larger than `maxBytes`: the body as a whole, or one event
 * of an event stream. The SDKs would keep reading it into memory.
 */
export function boundMessages(
  response: Response,
  maxBytes: number,
  onExceeded: (error: Error) => void,
): Response {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const size = isStream ? eventSize() : totalSize();
  return withBody(
    response,
    (chunk) => {
      if (size(chunk) <= maxBytes) return;
      const error = new Error(`the server sent a message of more than ${maxBytes} bytes`);
      onExceeded(error);
      throw error;
    },
    () => undefined,
  );
}

function totalSize(): (chunk: Uint8Array) => number {
  let total = 0;
  return (chunk) => {
    total += chunk.length;
    return total;
  };
}

/** Size of the largest event so far that the chunk belongs to. Events end with a blank line; lines with LF, CR or both. */
function eventSize(): (chunk: Uint8Array) => number {
  let event = 0;
  let line = 0;
  let previous = 0;
  return (chunk) => {
    let largest = 0;
    for (const byte of chunk) {
      event += 1;
      if (byte !== LF && byte !== CR) line += 1;
      else if (!(byte === LF && previous === CR)) {
        if (event > largest) largest = event;
        if (line === 0) event = 0;
        line = 0;
      }
      previous = byte;
    }
    return Math.max(largest, event);
  };
}

/** A response that passes each chunk to `onChunk`, whose error ends the body, and calls `onEnd` once at the end. */
function withBody(response: Response, onChunk: (chunk: Uint8Array) => void, onEnd: () => void): Response {
  const reader = response.body?.getReader();
  if (reader === undefined) return response;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          onChunk(value);
          return controller.enqueue(value);
        }
        controller.close();
      } catch (error) {
        controller.error(error);
        reader.cancel(error).catch(() => undefined);
      }
      onEnd();
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const { status, statusText, headers, url, redirected } = response;
  // The constructor takes neither; the SDKs read both after a redirect.
  return Object.defineProperties(new Response(body, { status, statusText, headers }), {
    url: { value: url },
    redirected: { value: redirected },
  });
}
