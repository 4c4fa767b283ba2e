/** Watches the bodies of HTTP responses: how large their messages get, and when they end. */
import { StringDecoder } from 'node:string_decoder';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sliced } from '../base/index.ts';
import { mayNeedRepair, messagesIn } from './envelope.ts';
import { asJson, findStrayError } from './http-answer.ts';
import { type MessageLimits, MessageMeter } from './message-meter.ts';
import { RetryField } from './retry-field.ts';
import type { JsonRpcId, JsonRpcMessage } from './session.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
/** `<` */
const MARKUP = 0x3c;

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
  /** Takes what an event stream holds behind an answer that was read at once. */
  readonly onMessage?: ((message: JsonRpcMessage) => void) | undefined;
}

interface BoundedResponse {
  /** Made when it is asked for. */
  readonly response: Response;
  readonly isStream: boolean;
  /**
   * The response to hand on: one of JSON where an event stream begins with the answer to the request, since an SDK makes
   * a dozen streams to read one event.
   */
  readonly atOnce: () => Promise<Response>;
}

/**
 * The same response, whose body fails when a message in it exceeds a limit: the body as a whole, or one event of an event
 * stream. The SDKs would keep reading it into memory, and parse it at once.
 * @param method of the request; what answers a GET is read as an event stream, whatever its type.
 */
export function boundMessages(
  response: Response,
  method: string | undefined,
  bounds: BodyBounds,
): BoundedResponse {
  const type = response.headers.get('content-type')?.toLowerCase() ?? '';
  // The SDKs read the body of a refusal as one text, whatever its type.
  const isStream = response.ok && type.startsWith('text/event-stream');
  const mayBeStream = response.ok && (method === 'GET' || type.includes('text/event-stream'));
  const meter = new MessageMeter(bounds.limits, isStream);
  const measure = mayBeStream ? eventMeasure(meter, isStream) : bodyMeasure(meter);
  const events = isStream ? new EventRepair(bounds.requestId) : undefined;
  return withBody(response, measure, events, bounds);
}

/** Measures chunks, and gives them in pieces between which the event loop is to turn. */
type Measure = (chunk: Uint8Array) => Iterable<Uint8Array>;

function bodyMeasure(meter: MessageMeter): Measure {
  let first: number | undefined;
  return (chunk) => {
    first ??= chunk.find((byte) => byte > SPACE);
    // A page has no JSON values, only many characters that would begin one.
    if (first === MARKUP) meter.addText(chunk.length);
    else meter.add(chunk);
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
  /** Whether the next event is to be taken out if it is the answer and nothing else. */
  takesAnswer = false;
  /** The answer that was taken out. */
  answer: JsonRpcMessage | undefined;
  readonly #requestId: JsonRpcId | undefined;
  #held: Uint8Array[] = [];
  /** What is held, decoded as it came: a large event would be decoded and parsed in one turn. */
  #text = '';
  readonly #decoder = new StringDecoder('utf8');
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
      this.#hold(piece.subarray(start, at + 1));
      start = at + 1;
      events.push(this.#take());
    }
    if (start < piece.length) this.#hold(piece.subarray(start));
    this.#last = piece.at(-1) ?? this.#last;
    return joined(events);
  }

  /** An event that the stream ended in. By its specification that is dropped; one whose message is whole is kept. */
  rest(): Uint8Array | undefined {
    const data = toData((this.#text + this.#decoder.end()).split('\n'));
    if (data === '' || this.#messagesIn(data).length === 0) return undefined;
    this.#hold(Buffer.from('\n\n'));
    return this.#take();
  }

  #hold(part: Uint8Array): void {
    this.#held.push(part);
    this.#text += this.#decoder.write(Buffer.from(part.buffer, part.byteOffset, part.length));
  }

  #messagesIn(data: string): readonly JsonRpcMessage[] {
    const messages = messagesIn(data);
    const mayBeStray = messages.length === 0 || typeof messages[0]?.id === 'string';
    const stray =
      mayBeStray && this.#requestId !== undefined ? findStrayError(data, this.#requestId) : undefined;
    return stray === undefined ? messages : [stray];
  }

  #take(): Uint8Array {
    const [held, text] = [this.#held, this.#text];
    this.#held = [];
    this.#text = '';
    const lines = text.split('\n').filter((line) => line !== '');
    const data = toData(lines);
    const takesAnswer = this.takesAnswer && lines.every((line) => OF_AN_ANSWER.test(line));
    this.takesAnswer = false;
    const messages = takesAnswer || mayNeedRepair(data) ? this.#messagesIn(data) : [];
    const [first] = messages;
    if (first === undefined) return joined(held);
    if (takesAnswer && messages.length === 1 && first.method === undefined && first.id === this.#requestId) {
      this.answer = first;
      return joined([]);
    }
    const fields = lines.filter((line) => !line.startsWith('data:'));
    const events = messages.map((message) =>
      [...fields, `data: ${JSON.stringify(message)}`, '', ''].join('\n'),
    );
    return Buffer.from(events.join(''));
  }
}

/** Lines of an event that hold its message or say no more of it; a `retry` is for the SDK. */
const OF_AN_ANSWER = /^(?:data:|id:|event: ?message$)/;

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}

function toData(lines: readonly string[]): string {
  const data = lines.filter((line) => line.startsWith('data:'));
  return data.map((line) => line.slice(line[5] === ' ' ? 6 : 5)).join('\n');
}

/** A longer text is parsed in a turn of its own. */
const SHORT_TEXT = 16_384;

/** A response whose body is read in pieces within bounds, by us or as a stream by an SDK. */
function withBody(
  response: Response,
  measure: Measure,
  events: EventRepair | undefined,
  { onExceeded, room, requestId, onAnswered, onMessage }: BodyBounds,
): BoundedResponse {
  const reader = response.body?.getReader();
  const isStream = events !== undefined;
  if (reader === undefined) return { response, isStream, atOnce: async () => response };
  const turn = sliced();
  let pieces: Iterator<Uint8Array> = [].values();
  /** What was read already and is to be read again. */
  let first: Promise<Uint8Array | undefined> | undefined;
  let isEnded = false;
  const end = (): void => {
    isEnded = true;
    if (events !== undefined && events.answer === undefined && requestId !== undefined)
      onAnswered?.(requestId);
  };
  const measured = function* (chunk: Uint8Array): Generator<Uint8Array> {
    try {
      for (const piece of measure(chunk)) yield events?.repaired(piece) ?? piece;
    } catch (cause) {
      const error = new Error(`the server sent ${(cause as RangeError).message}`);
      onExceeded(error);
      throw error;
    }
  };
  const read = async (): Promise<Uint8Array | undefined> => {
    if (isEnded) return undefined;
    try {
      let piece = pieces.next();
      // Chunks that are waiting already come without a turn between them.
      if (piece.done !== true) await nextTurn();
      else {
        const { done, value } = await reader.read();
        if (done) {
          end();
          return events?.rest();
        }
        pieces = measured(value);
        piece = pieces.next();
        await turn();
      }
      await room?.();
      return piece.value as Uint8Array;
    } catch (error) {
      reader.cancel(error).catch(() => undefined);
      end();
      throw error;
    }
  };
  const next = (): Promise<Uint8Array | undefined> => {
    const piece = first ?? read();
    first = undefined;
    return piece;
  };
  /** Decoded as its bytes arrive: the response's own would decode and parse all of it in one turn. */
  const text = async (): Promise<string> => {
    const decoder = new TextDecoder();
    let all = '';
    for (let piece = await next(); piece !== undefined; piece = await next())
      all += decoder.decode(piece, { stream: true });
    all += decoder.decode();
    if (all.length > SHORT_TEXT) await nextTurn();
    return all;
  };
  const toStream = (): ReadableStream<Uint8Array> =>
    new ReadableStream({
      pull: async (controller) => {
        try {
          const piece = await next();
          // An empty one too: without a chunk this would not be called again.
          if (piece === undefined) controller.close();
          else controller.enqueue(piece);
        } catch (error) {
          controller.error(error);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    });
  let stream: ReadableStream<Uint8Array> | undefined;
  let copy: Response | undefined;
  const toCopy = (): Response => {
    const { status, statusText, headers, url, redirected } = response;
    copy ??= Object.defineProperties(new Response(null, { status, statusText, headers }), {
      // The constructor takes neither; the SDKs read both after a redirect.
      url: { value: url },
      redirected: { value: redirected },
      // Made only for who reads it: a stream is most of what a short answer costs.
      body: { get: () => (stream ??= toStream()) },
      text: { value: text },
      json: { value: async () => JSON.parse(await text()) as unknown },
    });
    return copy;
  };
  /** Reads to the end, so that the connection can be used again. */
  const passOn = async (): Promise<void> => {
    let isFirst = true;
    for (let piece = await next(); piece !== undefined; piece = await next()) {
      if (piece.length === 0) continue;
      // The SDK reads the answer first.
      if (isFirst) await nextTurn();
      isFirst = false;
      for (const event of Buffer.from(piece).toString('utf8').split('\n\n'))
        for (const message of event === '' ? [] : messagesIn(toData(event.split('\n')))) onMessage?.(message);
    }
  };
  const atOnce = async (): Promise<Response> => {
    if (events === undefined || requestId === undefined) return toCopy();
    events.takesAnswer = true;
    let piece: Uint8Array | undefined;
    do {
      first = read();
      piece = await first.catch(() => undefined);
    } while (piece?.length === 0 && events.answer === undefined);
    if (events.answer === undefined) return toCopy();
    passOn().catch((error) => reader.cancel(error).catch(() => undefined));
    return asJson(response, [events.answer]);
  };
  return {
    get response() {
      return toCopy();
    },
    isStream,
    atOnce,
  };
}
