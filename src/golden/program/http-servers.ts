/** MCP servers over Streamable HTTP, while they are recorded: a request holds messages, its response their answers. */
import { errorMessage } from '../../base/index.ts';
import { parseOrKeep } from '../../json/index.ts';
import { tapped } from '../record/index.ts';
import type { OpenedConnection, ServerTap } from './server-tap.ts';
import { Lines, type PassedMessage, rpcMessages, toUrl } from './traffic.ts';

/** The servers of a program by their addresses, without queries, which may hold keys. */
export class ServerRequests {
  readonly #connections = new Map<string, OpenedConnection>();
  /** What sees the answers to requests that are open, by address. */
  readonly #open = new Map<string, Set<ServerTap>>();
  readonly #make: (url: string, connection: OpenedConnection) => ServerTap;

  constructor(make: (url: string, connection: OpenedConnection) => ServerTap) {
    this.#make = make;
  }

  /** Whether a request opens the stream of what a server sends by itself. */
  isListening(...[input, init]: Parameters<typeof fetch>): boolean {
    const method = init?.method ?? (input instanceof Request ? input.method : 'GET');
    try {
      return method.toUpperCase() === 'GET' && this.#connections.has(toAddress(toUrl(input)));
    } catch {
      return false;
    }
  }

  /**
   * Messages are sent to a server. Each request has a tap of its own: clients number theirs as others do.
   * @returns what sees its answers, and ends it.
   */
  sent(url: URL, messages: readonly PassedMessage[]): { readonly tap: ServerTap; end(): void } {
    const address = toAddress(url);
    const isNew = messages.some(({ method }) => method === 'initialize');
    const connection = (isNew ? undefined : this.#connections.get(address)) ?? {};
    this.#connections.set(address, connection);
    const open = this.#open.get(address) ?? new Set();
    this.#open.set(address, open);
    const tap = this.#make(address, connection);
    open.add(tap);
    for (const message of messages) {
      tap.client(message);
      if (message.method === 'notifications/cancelled') for (const one of open) one.cancelled(message.params);
    }
    return { tap, end: () => open.delete(tap) };
  }
}

function toAddress({ origin, pathname }: URL): string {
  return origin + pathname;
}

/** How much may be seen, what to do with what goes wrong, and what the program waits for. */
interface Bounds {
  mayHold(bytes: number): boolean;
  attempt(work: () => void): void;
  settled(): Promise<void> | undefined;
}

/** The same response; the messages in it are seen. */
export async function recordedAnswer(
  { tap, end }: ReturnType<ServerRequests['sent']>,
  answer: Promise<Response>,
  { mayHold, attempt, settled }: Bounds,
): Promise<Response> {
  const lost = (cause: string): void => {
    attempt(() => tap.lost(cause));
    end();
  };
  let response: Response;
  try {
    response = await answer;
  } catch (error) {
    lost(errorMessage(error));
    await settled();
    throw error;
  }
  const type = response.headers.get('content-type') ?? '';
  const refusal = response.ok ? undefined : `HTTP ${response.status}`;
  if (response.body === null || (refusal === undefined && !/json|event-stream/.test(type))) {
    if (refusal === undefined) end();
    else lost(refusal);
    return response;
  }
  const see = (text: string): void => {
    for (const message of rpcMessages(parseOrKeep(text)) ?? []) tap.server(message);
    // A refusal names no request.
    if (refusal !== undefined) tap.lost(`${refusal}: ${text}`);
  };
  const reader = type.includes('event-stream') ? readEvents(see) : readWhole(see);
  return tapped(response, {
    seen: (chunk) => {
      if (mayHold(chunk.length)) attempt(() => reader.read(chunk));
    },
    end: (fault) => {
      attempt(() => reader.end());
      if (fault === undefined) end();
      else lost(fault.message);
    },
    settled,
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
