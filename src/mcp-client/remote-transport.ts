import { loadPeer } from '../base/index.ts';
import type { RemoteServerConfig } from './config.ts';
import { createOwnedFetch } from './owned-fetch.ts';
import { Reconnections } from './reconnections.ts';
import { RequestWatch } from './request-watch.ts';
import type { Transport } from './transport.ts';
import { within } from './within.ts';

/** Bound on telling a server that its session is over. */
const TERMINATE_TIMEOUT_MS = 1_000;

/** A dropped answer stream is asked for again twice, then given up: after about 1.3 s in all. */
const RECONNECTION = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 2_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 2,
};

export interface RemoteTransport {
  readonly transport: Transport;
  /** The HTTP status of the latest refusal, if there was one; decides on the fallback to SSE. */
  readonly refusedWith: () => number | undefined;
  /** Ends the session at the server, then closes every socket. Never rejects. */
  close(): Promise<void>;
}

interface SdkHttpTransport extends Transport {
  terminateSession?: (() => Promise<void>) | undefined;
}

/** Opens a streamable HTTP or SSE transport of the given SDK generation, on sockets of its own. */
export async function openRemoteTransport(
  config: RemoteServerConfig,
  options: {
    readonly sdk: 'v1' | 'v2';
    readonly kind: 'http' | 'sse';
    readonly onLost: (error: unknown) => void;
  },
): Promise<RemoteTransport> {
  const { StreamableHTTPClientTransport, SSEClientTransport } = await loadTransports(options.sdk);
  const owned = await createOwnedFetch();
  let refusal: number | undefined;
  let established = false;
  const watch = new RequestWatch(async (input, init) => {
    let response: Response;
    try {
      response = await owned.fetch(input, init);
    } catch (error) {
      if (isUnreachable(error)) options.onLost(error);
      throw error;
    }
    if (!response.ok && init?.method === 'POST') refusal = response.status;
    // The specification's sign that the session is over; a new one has to be initialized.
    if (response.status === 404 && new Headers(init?.headers).has('mcp-session-id')) {
      options.onLost(new Error('the server has ended the session (HTTP 404)'));
    }
    return response;
  });
  const reconnections = new Reconnections();
  const common = { fetch: watch.fetch, requestInit: { headers: { ...config.headers } } };
  const transport = (options.kind === 'http'
    ? new StreamableHTTPClientTransport(config.url, { ...common, reconnectionOptions: RECONNECTION })
    : new SSEClientTransport(config.url, common)) as unknown as SdkHttpTransport;
  if (options.kind === 'http') {
    watch.attach(transport);
    if (options.sdk === 'v1') reconnections.watchField(transport);
  } else {
    const start = transport.start.bind(transport);
    transport.start = async () => {
      await start();
      established = true;
    };
    // All answers of an SSE server come over one stream. When it breaks they are lost, though the SDK opens another.
    const { onerror } = transport;
    transport.onerror = (error) => {
      onerror?.(error);
      if (established) options.onLost(error);
    };
  }
  return {
    transport,
    refusedWith: () => refusal,
    close: async () => {
      if (transport.terminateSession) await within(transport.terminateSession(), TERMINATE_TIMEOUT_MS);
      reconnections.close();
      await transport.close().catch(() => undefined);
      watch.close();
      await owned.close();
    },
  };
}

/** A broken connection may be bad luck with a kept-alive socket; these mean that nobody is there. */
function isUnreachable(error: unknown): boolean {
  const code = (error as { cause?: { code?: unknown } }).cause?.code;
  return ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH'].includes(String(code));
}

async function loadTransports(sdk: 'v1' | 'v2') {
  if (sdk === 'v2')
    return loadPeer('@modelcontextprotocol/client', () => import('@modelcontextprotocol/client'), {
      neededFor: 'This MCP server',
    });
  const [http, sse] = await loadPeer(
    '@modelcontextprotocol/sdk',
    () =>
      Promise.all([
        import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
        import('@modelcontextprotocol/sdk/client/sse.js'),
      ]),
    { neededFor: 'This MCP server' },
  );
  return {
    StreamableHTTPClientTransport: http.StreamableHTTPClientTransport,
    SSEClientTransport: sse.SSEClientTransport,
  };
}
