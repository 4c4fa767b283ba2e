import { parseOrKeep } from '../../json/index.ts';
import type { NetworkFault, StreamEvent, WireRequest, WireResponse } from './format.ts';
import { keptPath, keptRequestHeaders, keptResponseHeaders } from './scrubber.ts';

/** The recorded form of a request whose body has been read; a body that is not JSON stays text. */
export function toWireRequest({ method, url, headers }: Request, text: string): WireRequest {
  return {
    method,
    path: keptPath(new URL(url)),
    headers: keptRequestHeaders(headers),
    body: parseOrKeep(text),
  };
}

/** The recorded form of a response whose body has been read. */
export function toWireResponse(
  response: { readonly status: number; readonly headers: Headers },
  text: string,
  cut: NetworkFault | undefined,
): WireResponse {
  const head = { status: response.status, headers: keptResponseHeaders(response.headers) };
  const end = cut === undefined ? {} : { cut };
  if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) {
    const { events, lineEnd } = readEvents(text, cut !== undefined);
    return { ...head, events, ...(lineEnd === '\n' ? {} : { line_end: lineEnd }), ...end };
  }
  const body = cut === undefined ? compactJson(text) : undefined;
  return body === undefined ? { ...head, text, ...end } : { ...head, body: body.value };
}

/** The recorded form of a missing response. */
export function noResponse(error: unknown): WireResponse {
  return { status: 0, headers: {}, error: toNetworkFault(error) };
}

/** The recorded form of a failed connection. Node puts the code on a cause. */
export function toNetworkFault(error: unknown): NetworkFault {
  let code: string | null = null;
  for (let current = error, depth = 0; current instanceof Error && depth < 5; depth += 1) {
    const own = (current as NodeJS.ErrnoException).code;
    if (typeof own === 'string') code = own;
    current = current.cause;
  }
  return { code, message: error instanceof Error ? error.message : String(error) };
}

/**
 * The response as `fetch` returns it; a stream arrives event by event.
 * @throws TypeError, as `fetch` does, if the recorded request got no response.
 */
export function fromWireResponse(wire: WireResponse): Response {
  if (wire.error !== undefined) throw networkError(wire.error);
  const pieces = textsOf(wire);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift();
      if (piece !== undefined) controller.enqueue(encoder.encode(piece));
      else if (wire.cut !== undefined) controller.error(networkError(wire.cut));
      else controller.close();
    },
  });
  return new Response(body, { status: wire.status, headers: { ...wire.headers } });
}

/** The body as sent over the wire, in pieces. */
function textsOf(wire: WireResponse): string[] {
  if (wire.events !== undefined)
    return writeEvents(wire.events, wire.line_end ?? '\n', wire.cut !== undefined);
  return [wire.text ?? JSON.stringify(wire.body)];
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

/** The text of each event, with its line endings. */
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
