import { keptResponseHeaders } from './allow-list.ts';
import type { NetworkFault, WireResponse } from './format.ts';
import { readEvents, writeEvents } from './stream-events.ts';

/** The kept form of an answer whose body has been read. */
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

/** The kept form of a request that got no answer. */
export function noResponse(error: unknown): WireResponse {
  return { status: 0, headers: {}, error: toNetworkFault(error) };
}

/** What a failed connection is kept as: Node puts the code on a cause. */
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
 * The answer as `fetch` gives it: a stream comes event by event.
 * @throws TypeError, as `fetch` does, where the recorded request got no answer.
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

/** The body as it goes over the wire, in pieces. */
export function textsOf(wire: WireResponse): string[] {
  if (wire.events !== undefined)
    return writeEvents(wire.events, wire.line_end ?? '\n', wire.cut !== undefined);
  return [wire.text ?? JSON.stringify(wire.body)];
}

function networkError({ code, message }: NetworkFault): TypeError {
  const cause = code === null ? undefined : Object.assign(new Error(message), { code });
  return new TypeError(message, cause === undefined ? undefined : { cause });
}

/** The value of a JSON text; a text that is none is kept as it is. */
function compactJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
