/** Watches the bodies of HTTP responses: how large their messages get, and when they end. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sliced } from '../base/index.ts';
import { type MessageLimits, MessageMeter } from './message-meter.ts';

const LF = 0x0a;
const CR = 0x0d;

/** The same response, with a call when its body has ended in any way. */
export function observeEnd(response: Response, onEnd: () => void): Response {
  return withBody(response, (chunk) => [chunk], onEnd);
}

/**
 * The same response, whose body fails when a message in it exceeds a limit: the body as a whole, or one event of an event
 * stream. The SDKs would keep reading it into memory, and parse it at once.
 */
export function boundMessages(
  response: Response,
  limits: MessageLimits,
  onExceeded: (error: Error) => void,
): Response {
  // The SDKs read the body of a refusal as one text, whatever its type.
  const isStream =
    response.ok && response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const meter = new MessageMeter(limits, isStream);
  const measure = isStream ? eventMeasure(meter) : bodyMeasure(meter);
  return withBody(
    response,
    function* (chunk) {
      try {
        yield* measure(chunk);
      } catch (cause) {
        const error = new Error(`the server sent ${(cause as RangeError).message}`);
        onExceeded(error);
        throw error;
      }
    },
    () => undefined,
  );
}

/** Measures chunks, and gives them in pieces between which the event loop is to turn. */
type Measure = (chunk: Uint8Array) => Iterable<Uint8Array>;

function bodyMeasure(meter: MessageMeter): Measure {
  return (chunk) => {
    meter.add(chunk);
    return [chunk];
  };
}

/**
 * Measures events one by one. Events end with a blank line; lines with LF, CR or both. All become LF: the SDKs' parser
 * takes quadratic time for lines that end with CR.
 */
function eventMeasure(meter: MessageMeter): Measure {
  let line = 0;
  let previous = 0;
  return function* (chunk) {
    const text = new Uint8Array(chunk.length);
    let length = 0;
    let measured = 0;
    let given = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (byte !== LF && byte !== CR) {
        text[length++] = byte;
        line += 1;
      } else if (!(byte === LF && previous === CR)) {
        text[length++] = LF;
        if (line === 0) {
          meter.add(text, measured, length);
          meter.reset();
          measured = length;
          if (meter.isTurnDue()) {
            yield text.subarray(given, length);
            given = length;
          }
        }
        line = 0;
      }
      previous = byte;
    }
    meter.add(text, measured, length);
    yield text.subarray(given, length);
  };
}

/** A response that passes each chunk to `measure`, whose error ends the body, and calls `onEnd` once at the end. */
function withBody(response: Response, measure: Measure, onEnd: () => void): Response {
  const reader = response.body?.getReader();
  if (reader === undefined) return response;
  const turn = sliced();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          let isFirst = true;
          for (const piece of measure(value)) {
            // Chunks that are waiting already come without a turn between them.
            if (isFirst) await turn();
            else await nextTurn();
            isFirst = false;
            controller.enqueue(piece);
          }
          return;
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
  const copy = new Response(body, { status, statusText, headers });
  return Object.defineProperties(copy, {
    // The constructor takes neither; the SDKs read both after a redirect.
    url: { value: url },
    redirected: { value: redirected },
    text: { value: () => decoded(copy) },
    json: { value: async () => JSON.parse(await decoded(copy)) as unknown },
  });
}

/** The text of a body, decoded as its bytes arrive: `json()` of its own would decode and parse all of it in one turn. */
async function decoded({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) text += decoder.decode(chunk as Uint8Array, { stream: true });
  text += decoder.decode();
  await nextTurn();
  return text;
}
