/** MCP servers over Streamable HTTP, while they are recorded: a request holds messages, its response their answers. */
import { errorMessage } from '../../base/index.ts';
import { parseOrKeep } from '../../json/index.ts';
import type { ServerTap } from './server-tap.ts';
import { Lines, type PassedMessage, rpcMessages } from './traffic.ts';

/** The servers of a program by their addresses, without queries, which may hold keys. */
export class ServerRequests {
  readonly #taps = new Map<string, ServerTap>();
  readonly #make: (url: string) => ServerTap;

  constructor(make: (url: string) => ServerTap) {
    this.#make = make;
  }

  /** Messages are sent to a server. @returns what sees its answers. */
  sent(url: URL, messages: readonly PassedMessage[]): ServerTap {
    const address = url.origin + url.pathname;
    // A client that connects again is a connection of its own, and may number its requests as another does.
    const isNew = messages.some(({ method }) => method === 'initialize');
    const tap = (isNew ? undefined : this.#taps.get(address)) ?? this.#make(address);
    this.#taps.set(address, tap);
    for (const message of messages) tap.client(message);
    return tap;
  }
}

/** The same response; the messages in it are seen. */
export async function recordedAnswer(tap: ServerTap, answer: Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await answer;
  } catch (error) {
    tap.lost(errorMessage(error));
    throw error;
  }
  const type = response.headers.get('content-type') ?? '';
  if (response.body === null || !/json|event-stream/.test(type)) {
    if (!response.ok) tap.lost(`HTTP ${response.status}`);
    return response;
  }
  const see = (text: string): void => {
    for (const message of rpcMessages(parseOrKeep(text)) ?? []) tap.server(message);
  };
  const reader = type.includes('event-stream') ? events(see) : whole(see);
  const passed = response.body.pipeThrough(reader);
  return Object.defineProperty(new Response(passed, response), 'url', { value: response.url });
}

function whole(see: (text: string) => void): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let text = '';
  return new TransformStream({
    transform(chunk, controller) {
      text += decoder.decode(chunk, { stream: true });
      controller.enqueue(chunk);
    },
    flush: () => see(text + decoder.decode()),
  });
}

/** An event may have several `data` lines, which belong together. */
function events(see: (text: string) => void): TransformStream<Uint8Array, Uint8Array> {
  const lines = new Lines();
  let data: string[] = [];
  return new TransformStream({
    transform(chunk, controller) {
      for (const line of lines.read(chunk)) {
        if (line.startsWith('data:')) data.push(line.slice(5).trim());
        else if (line === '' && data.length > 0) {
          see(data.join('\n'));
          data = [];
        }
      }
      controller.enqueue(chunk);
    },
  });
}
