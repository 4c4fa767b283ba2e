import { defaultMaxListeners, getMaxListeners, setMaxListeners } from 'node:events';
import { parseOrKeep } from '../../json/index.ts';
import type { NetworkFault, StreamEvent, WireRequest, WireResponse } from './format.ts';
import { keptPath, keptRequestHeaders, keptResponseHeaders } from './scrubber.ts';

export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
}

/** The recorded form of a request whose body has been read; a body that is not JSON stays text. */
export function toWireRequest({ method, url, headers }: RequestHead, text: string): WireRequest {
  return {
    method,
    path: keptPath(new URL(url)),
    headers: keptRequestHeaders(headers),
    body: parseOrKeep(withoutBoundary(text)),
  };
}

/** A form with the boundary that each request makes up anew replaced. */
function withoutBoundary(text: string): string {
  const boundary = /^--([\w'()+,./:=?-]{1,70})\r\n/.exec(text)?.[1];
  return boundary === undefined ? text : text.replaceAll(boundary, 'boundary');
}

/** The recorded form of a response whose body has been read, as text or in bytes. */
export function toWireResponse(
  response: { readonly status: number; readonly headers: Headers },
  content: string | Uint8Array,
  cut: NetworkFault | undefined,
): WireResponse {
  const head = { status: response.status, headers: keptResponseHeaders(response.headers) };
  const end = cut === undefined ? {} : { cut };
  const text = typeof content === 'string' ? content : textIn(content, cut !== undefined);
  if (text === undefined) return { ...head, base64: Buffer.from(content).toString('base64'), ...end };
  if (isEventStream(response.headers)) {
    const { events, lineEnd } = readEvents(text, cut !== undefined);
    return { ...head, events, ...(lineEnd === '\n' ? {} : { line_end: lineEnd }), ...end };
  }
  const body = cut === undefined ? compactJson(text) : undefined;
  return body === undefined ? { ...head, text, ...end } : { ...head, body: body.value };
}

/** Whether a response is a stream of server-sent events. */
export function isEventStream(headers: Headers): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true;
}

/** Bytes as text; undefined for what is none. A character at the end of a cut body may be broken. */
function textIn(bytes: Uint8Array, isCut: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: !isCut }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The recorded form of a missing response. */
export function noResponse(error: unknown): WireResponse {
  return { status: 0, headers: {}, error: toNetworkFault(error) };
}

/** Node's code for what the program itself gave up. */
const ABORTED = 'ABORT_ERR';

function isAbort({ name }: Error): boolean {
  return name === 'AbortError' || name === 'TimeoutError';
}

/** The recorded form of a failed connection. Node puts the code on a cause. */
export function toNetworkFault(error: unknown): NetworkFault {
  let code: string | null = null;
  for (let current = error, depth = 0; current instanceof Error && depth < 5; depth += 1) {
    const own = (current as NodeJS.ErrnoException).code;
    if (typeof own === 'string') code = own;
    if (isAbort(current)) code = ABORTED;
    current = current.cause;
  }
  return { code, message: error instanceof Error ? error.message : String(error) };
}

/** How many events of a stream had come whole when so many bytes had, for each number of bytes. */
export function countEvents(
  { events, line_end: lineEnd, cut }: WireResponse,
  bytes: readonly number[],
): number[] {
  const texts = writeEvents(events ?? [], lineEnd ?? '\n', cut !== undefined);
  let count = 0;
  let size = 0;
  return bytes.map((limit) => {
    for (let text = texts[count]; text !== undefined; text = texts[count]) {
      const next = size + Buffer.byteLength(text);
      if (next > limit) break;
      size = next;
      count += 1;
    }
    return count;
  });
}

/** When what a response consists of is given. */
export interface Pace {
  /** As in the golden. */
  readonly arrived?: readonly (readonly [events: number, at: number])[] | undefined;
  /** Awaited before what arrived at a position. @param after the position of what arrived before */
  arrival(at: number, after: number | undefined): Promise<void>;
  /** Awaited before the last event, or before the whole body of a response that is no stream. */
  end(): Promise<void>;
}

const AT_ONCE: Pace = { arrival: async () => {}, end: async () => {} };

/** Statuses whose responses have no body. */
const BODILESS: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/**
 * The response as `fetch` returns it; a stream arrives event by event.
 * @param signal of the request; also ends a response that the program gave up when it was recorded.
 * @throws TypeError, as `fetch` does, if the recorded request got no response.
 */
export async function fromWireResponse(
  wire: WireResponse,
  signal?: AbortSignal,
  pace: Pace = AT_ONCE,
): Promise<Response> {
  if (wire.error !== undefined) {
    const fault = await toFault(wire.error, signal);
    await pace.end();
    throw fault;
  }
  const init = { status: wire.status, headers: { ...wire.headers } };
  if (BODILESS.has(wire.status)) {
    await pace.end();
    return new Response(null, init);
  }
  const pieces = listPieces(wire);
  const arrivals = [...(pace.arrived ?? [])];
  const isPaced = arrivals.length > 0;
  let [given, arrived] = [0, 0];
  let latest: number | undefined;
  const arrival = async (): Promise<void> => {
    const [events, at] = arrivals.shift() ?? [Number.POSITIVE_INFINITY];
    arrived = events;
    if (at !== undefined) await pace.arrival(at, latest);
    latest = at;
  };
  if (isPaced) await arrival();
  let giveUp = (): void => {};
  const end = (): Promise<void> => {
    signal?.removeEventListener('abort', giveUp);
    return pace.end();
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      giveUp = () => {
        controller.error(signal?.reason);
        void end();
      };
      if (signal !== undefined) onAbort(signal, giveUp);
    },
    async pull(controller) {
      const isCut = wire.cut !== undefined;
      if (pieces.length <= (isCut || isPaced ? 0 : 1)) {
        const fault = isCut ? await toFault(wire.cut as NetworkFault, signal) : undefined;
        await end();
        if (signal?.aborted === true) return;
        if (fault !== undefined) return controller.error(fault);
      }
      while (isPaced && arrived <= given && pieces.length > 0) await arrival();
      given += 1;
      const piece = pieces.shift();
      if (piece !== undefined) controller.enqueue(piece);
      else controller.close();
    },
    cancel: () => void end(),
  });
  return new Response(body, init);
}

/** Listens to a signal, which may be that of many requests: as `fetch` does, without a warning of a leak. */
export function onAbort(signal: AbortSignal, listen: () => void): void {
  if (getMaxListeners(signal) === defaultMaxListeners) setMaxListeners(MAX_LISTENERS, signal);
  signal.addEventListener('abort', listen, { once: true });
}

/** As `fetch` has it. */
const MAX_LISTENERS = 1_500;

/** The error of a failed connection; where the program gave it up, when it does so again. */
async function toFault(fault: NetworkFault, signal: AbortSignal | undefined): Promise<unknown> {
  if (fault.code !== ABORTED || signal === undefined) return networkError(fault);
  if (!signal.aborted) await new Promise<void>((resolve) => onAbort(signal, resolve));
  return signal.reason;
}

/** The body as sent over the wire, in pieces. */
function listPieces(wire: WireResponse): Uint8Array[] {
  if (wire.base64 !== undefined) return [Buffer.from(wire.base64, 'base64')];
  const texts =
    wire.events === undefined
      ? [wire.text ?? JSON.stringify(wire.body)]
      : writeEvents(wire.events, wire.line_end ?? '\n', wire.cut !== undefined);
  const encoder = new TextEncoder();
  return texts.map((text) => encoder.encode(text));
}

function networkError({ code, message }: NetworkFault): TypeError {
  const cause = code === null ? undefined : Object.assign(new Error(message), { code });
  return new TypeError(message, cause === undefined ? undefined : { cause });
}

/** Parses JSON; undefined for other text. */
function compactJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

interface StreamText {
  readonly events: readonly StreamEvent[];
  readonly lineEnd: string;
}

/**
 * Reads a stream of server-sent events such that {@link writeEvents} reproduces its text. An event of the usual form,
 * a name and one line of compact JSON, is parsed; any other stays raw.
 *
 * @param cut whether the connection broke; the rest after the last complete event then becomes an event of its own.
 */
function readEvents(text: string, cut: boolean): StreamText {
  const lineEnd = text.includes('\r\n')
    ? '\r\n'
    : text.includes('\n')
      ? '\n'
      : text.includes('\r')
        ? '\r'
        : '\n';
  const blocks = text.split(lineEnd + lineEnd);
  const rest = blocks.pop() ?? '';
  const events = blocks.map((block) => readEvent(block, lineEnd));
  if (cut || rest !== '') events.push({ raw: rest });
  return { events, lineEnd };
}

function writeEvents(events: readonly StreamEvent[], lineEnd: string, cut: boolean): string[] {
  return events.map((event, index) => {
    const isBroken = cut && index === events.length - 1;
    return writeEvent(event, lineEnd) + (isBroken ? '' : lineEnd + lineEnd);
  });
}

function readEvent(block: string, lineEnd: string): StreamEvent {
  const lines = block.split(lineEnd);
  const name =
    lines.length === 2 && lines[0]?.startsWith('event: ') ? lines[0].slice('event: '.length) : undefined;
  const last = lines.at(-1) ?? '';
  if (!last.startsWith('data: ')) return { raw: block };
  try {
    const data: unknown = JSON.parse(last.slice('data: '.length));
    const event: StreamEvent = name === undefined ? { data } : { event: name, data };
    return writeEvent(event, lineEnd) === block ? event : { raw: block };
  } catch {
    return { raw: block };
  }
}

function writeEvent(event: StreamEvent, lineEnd: string): string {
  if ('raw' in event) return event.raw;
  const data = `data: ${JSON.stringify(event.data)}`;
  return event.event === undefined ? data : `event: ${event.event}${lineEnd}${data}`;
}
