/** MCP servers over Streamable HTTP, while they are recorded: a request holds messages, its response their answers. */
import { errorMessage } from '../../base/index.ts';
import { parseOrKeep } from '../../json/index.ts';
import { tapped } from '../record/index.ts';
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

/** How much may be seen, and what to do with what goes wrong. */
interface Bounds {
  mayHold(bytes: number): boolean;
  attempt(work: () => void): void;
}

/** The same response; the messages in it are seen. */
export async function recordedAnswer(
  tap: ServerTap,
  answer: Promise<Response>,
  { mayHold, attempt }: Bounds,
): Promise<Response> {
  let response: Response;
  try {
    response = await answer;
  } catch (error) {
    attempt(() => tap.lost(errorMessage(error)));
    throw error;
  }
  const type = response.headers.get('content-type') ?? '';
  if (response.body === null || !/json|event-stream/.test(type)) {
    if (!response.ok) attempt(() => tap.lost(`HTTP ${response.status}`));
    return response;
  }
  const see = (text: string): void => {
    for (const message of rpcMessages(parseOrKeep(text)) ?? []) tap.server(message);
  };
  const reader = type.includes('event-stream') ? readEvents(see) : readWhole(see);
  return tapped(response, {
    seen: (chunk) => {
      if (mayHold(chunk.length)) attempt(() => reader.read(chunk));
    },
    end: () => attempt(() => reader.end()),
  });
}

interface BodyReader {
  read(chunk: Uint8Array): void;
  end(): void;
}

function readWhole(see: (text: string) => void): BodyReader {
  const decoder = new TextDecoder();
  let text = '';
  return {
    read: (chunk) => {
      text += decoder.decode(chunk, { stream: true });
    },
    end: () => see(text + decoder.decode()),
  };
}

/** An event may have several `data` lines, which belong together. */
function readEvents(see: (text: string) => void): BodyReader {
  const lines = new Lines();
  let data: string[] = [];
  return {
    read: (chunk) => {
      for (const line of lines.read(chunk)) {
        if (line.startsWith('data:')) data.push(line.slice(5).trim());
        else if (line === '' && data.length > 0) {
          see(data.join('\n'));
          data = [];
        }
      }
    },
    end: () => {},
  };
}
