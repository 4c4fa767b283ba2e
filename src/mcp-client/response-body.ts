/** Watches the bodies of HTTP responses: how large their messages get, and when they end. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sliced } from '../base/index.ts';
import { mayNeedRepair, messagesIn } from './envelope.ts';
import { findStrayError } from './http-answer.ts';
import { type MessageLimits, MessageMeter } from './message-meter.ts';
import { RetryField } from './retry-field.ts';
import type { JsonRpcId, JsonRpcMessage } from './session.ts';

const LF = 0x0a;
const CR = 0x0d;

/** What is allowed of the bodies that one connection reads. */
export interface BodyBounds {
  readonly limits: MessageLimits;
  readonly onExceeded: (error: Error) => void;
  /** Awaited before more of a body is read. @defaultValue no wait */
  readonly room?: (() => Promise<void>) | undefined;
  /** The request that the body answers. @defaultValue none */
  readonly requestId?: JsonRpcId | undefined;
  /** Called when an event stream that answers a request has ended in any way but by its reader. */
  readonly onAnswered?: ((requestId: JsonRpcId) => void) | undefined;
}

/**
 * The same response, whose body fails when a message in it exceeds a limit: the body as a whole, or one event of an event
 * stream. The SDKs would keep reading it into memory, and parse it at once.
 * @param method of the request; what answers a GET is read as an event stream, whatever its type.
 */
export function boundMessages(response: Response, method: string | undefined, bounds: BodyBounds): Response {
  const type = response.headers.get('content-type')?.toLowerCase() ?? '';
  // The SDKs read the body of a refusal as one text, whatever its type.
  const isStream = response.ok && type.startsWith('text/event-stream');
  const mayBeStream = response.ok && (method === 'GET' || type.includes('text/event-stream'));
  const meter = new MessageMeter(bounds.limits, isStream);
  const measure = mayBeStream ? eventMeasure(meter, isStream) : bodyMeasure(meter);
  const { requestId, onAnswered } = bounds;
  const events = isStream ? new EventRepair(requestId) : undefined;
  const onEnd = isStream && requestId !== undefined ? () => onAnswered?.(requestId) : undefined;
  return withBody(
    response,
    function* (chunk) {
      try {
        for (const piece of measure(chunk)) yield events === undefined ? piece : events.repaired(piece);
      } catch (cause) {
        const error = new Error(`the server sent ${(cause as RangeError).message}`);
        bounds.onExceeded(error);
        throw error;
      }
    },
    { rest: () => events?.rest(), onEnd, room: bounds.room },
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
 * Measures events one by one, or all as one message. Events end with a blank line; lines with LF, CR or both. All become
 * LF: the SDKs' parser takes quadratic time for lines that end with CR. Waits that a server asks for are bounded.
 */
function eventMeasure(meter: MessageMeter, isEach: boolean): Measure {
  const retry = new RetryField();
  let line = 0;
  let previous = 0;
  return function* (chunk) {
    const text = new Uint8Array(RetryField.mostBytes(chunk.length));
    let length = 0;
    let measured = 0;
    let given = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] as number;
      if (byte !== LF && byte !== CR) {
        line += 1;
        if (!retry.isHolding) text[length++] = byte;
        else length = retry.take(byte, text, length);
      } else if (!(byte === LF && previous === CR)) {
        length = retry.endLine(text, length);
        text[length++] = LF;
        if (line === 0) {
          meter.add(text, measured, length);
          if (isEach) meter.reset();
          measured = length;
          if (meter.takeTurn()) {
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

/** Brings the messages in an event stream with LF line ends into the form that the SDKs read, event by event. */
class EventRepair {
  readonly #requestId: JsonRpcId | undefined;
  #held: Uint8Array[] = [];
  #last = LF;

  constructor(requestId: JsonRpcId | undefined) {
    this.#requestId = requestId;
  }

  /** The events that `piece` completes. */
  repaired(piece: Uint8Array): Uint8Array {
    const events: Uint8Array[] = [];
    let start = 0;
    for (let at = piece.indexOf(LF); at >= 0; at = piece.indexOf(LF, at + 1)) {
      const isBlank = (at === 0 ? this.#last : piece[at - 1]) === LF;
      if (!isBlank) continue;
      this.#held.push(piece.subarray(start, at + 1));
      start = at + 1;
      events.push(this.#take());
    }
    if (start < piece.length) this.#held.push(piece.subarray(start));
    this.#last = piece.at(-1) ?? this.#last;
    return events.length === 1 ? (events[0] as Uint8Array) : Buffer.concat(events);
  }

  /** An event that the stream ended in. By its specification that is dropped; one whose message is whole is kept. */
  rest(): Uint8Array | undefined {
    const text = Buffer.concat(this.#held).toString('utf8');
    const data = toData(text.split('\n'));
    if (this.#messagesIn(data).length === 0) return undefined;
    this.#held.push(Buffer.from('\n\n'));
    return this.#take();
  }

  #messagesIn(data: string): readonly JsonRpcMessage[] {
    const messages = messagesIn(data);
    const mayBeStray = messages.length === 0 || typeof messages[0]?.id === 'string';
    const stray =
      mayBeStray && this.#requestId !== undefined ? findStrayError(data, this.#requestId) : undefined;
    return stray === undefined ? messages : [stray];
  }

  #take(): Uint8Array {
    const event = this.#held.length === 1 ? (this.#held[0] as Uint8Array) : Buffer.concat(this.#held);
    this.#held = [];
    const text = Buffer.from(event.buffer, event.byteOffset, event.length).toString('utf8');
    const lines = text.split('\n').filter((line) => line !== '');
    const data = toData(lines);
    const messages = mayNeedRepair(data) ? this.#messagesIn(data) : [];
    if (messages.length === 0) return event;
    const fields = lines.filter((line) => !line.startsWith('data:'));
    const events = messages.map((message) =>
      [...fields, `data: ${JSON.stringify(message)}`, '', ''].join('\n'),
    );
    return Buffer.from(events.join(''));
  }
}

function toData(lines: readonly string[]): string {
  const data = lines.filter((line) => line.startsWith('data:'));
  return data.map((line) => line.slice(line[5] === ' ' ? 6 : 5)).join('\n');
}

/** What happens around the chunks of a body. */
interface BodySteps {
  /** The last piece, when the body has ended. */
  readonly rest?: (() => Uint8Array | undefined) | undefined;
  readonly onEnd?: (() => void) | undefined;
  readonly room?: (() => Promise<void>) | undefined;
}

/** A response that passes each chunk to `measure`, whose error ends the body, and calls `onEnd` once at the end. */
function withBody(response: Response, measure: Measure, { rest, onEnd, room }: BodySteps): Response {
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
            await room?.();
            // An empty one too: without a chunk this would not be called again.
            controller.enqueue(piece);
          }
          return;
        }
        const last = rest?.();
        if (last !== undefined) controller.enqueue(last);
        controller.close();
      } catch (error) {
        controller.error(error);
        reader.cancel(error).catch(() => undefined);
      }
      onEnd?.();
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
