import type { JsonRpcId, JsonRpcMessage, Transport } from './session.ts';

/** `error.data` of the answers made here, which tells them from the server's. */
export const CONNECTION_LOST: object = Object.freeze({ connectionLost: true });

/** How long the SDK's parser may take for the last chunk after the stream has ended. */
const PARSE_LAG_MS = 50;

interface OpenRequest {
  /** The stream named an event id, so the SDK fetches the rest of it on a new connection. */
  resumable: boolean;
  streamEnded: boolean;
}

/**
 * Watches the requests on an HTTP transport and ends those whose answer can no longer come. The transports of the SDKs
 * leave such a request waiting for its timeout: when the connection breaks in the middle of an answer stream, they
 * report it at most through `onerror`, which names no request.
 *
 * Call `attach` before a client connects, and `streamEnded` when the event stream that answers a request is over.
 */
export class RequestWatch {
  readonly #open: Map<JsonRpcId, OpenRequest> = new Map();
  readonly #timers: Set<NodeJS.Timeout> = new Set();
  #transport: Transport | undefined;

  attach(transport: Transport): void {
    this.#transport = transport;
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (message.method === 'notifications/cancelled')
        this.#open.delete(message.params?.requestId as JsonRpcId);
      if (message.method === undefined || message.id === undefined) return send(message, options);
      const id = message.id;
      const request: OpenRequest = { resumable: false, streamEnded: false };
      this.#open.set(id, request);
      const onresumptiontoken = (token: string) => {
        request.resumable = true;
        options?.onresumptiontoken?.(token);
      };
      return send(message, { ...options, onresumptiontoken }).catch((error: unknown) => {
        this.#open.delete(id);
        throw error;
      });
    };
    const { onmessage, onerror } = transport;
    transport.onmessage = (message, extra) => {
      if (message.method === undefined && message.id !== undefined) this.#open.delete(message.id);
      onmessage?.(message, extra);
    };
    transport.onerror = (error) => {
      onerror?.(error);
      // The only sign that the SDK has given up resuming a stream.
      if (error.message.startsWith('Maximum reconnection attempts')) {
        for (const [id, request] of this.#open) if (request.streamEnded) this.#lose(id);
      }
    };
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#open.clear();
  }

  streamEnded(id: JsonRpcId): void {
    if (!this.#open.has(id)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      const request = this.#open.get(id);
      if (request === undefined) return;
      request.streamEnded = true;
      if (!request.resumable) this.#lose(id);
    }, PARSE_LAG_MS);
    this.#timers.add(timer);
  }

  #lose(id: JsonRpcId): void {
    this.#open.delete(id);
    const message = 'The connection ended before the answer came.';
    const answer: JsonRpcMessage = {
      jsonrpc: '2.0',
      id,
      error: { code: -32000, message, data: CONNECTION_LOST },
    };
    this.#transport?.onmessage?.(answer);
  }
}
