import { diag } from '@opentelemetry/api';
import { ObservatoryError } from '../base/index.ts';
import type { ProtocolChoice, RemoteServerConfig, ServerConfig, StdioServerConfig } from './config.ts';
import type { ConnectionOptions } from './options.ts';
import { reasonOf } from './reason.ts';
import { openRemoteTransport } from './remote-transport.ts';
import type { McpSession, OpenSession } from './session.ts';
import { openV1 } from './session-v1.ts';
import { openV2 } from './session-v2.ts';
import { StdioTransport } from './stdio-transport.ts';
import type { Transport } from './transport.ts';

/** A live session together with what carries it. */
export interface ServerLink {
  readonly session: McpSession;
  readonly pid: number | undefined;
  stderr(): string;
  /** Why the connection is gone, or undefined while it stands. */
  lost(): string | undefined;
  /** Ends the session and what carries it. Never rejects. */
  close(): Promise<void>;
}

/** Opens a server: {@link openLink}, or what stands in for it to record or play what servers say. */
export type OpenLink = (
  config: ServerConfig,
  options: ConnectionOptions,
  signal: AbortSignal,
  hooks: LinkHooks,
) => Promise<ServerLink>;

export interface LinkHooks {
  onToolsChanged(): void;
  /** The connection ended, and nobody asked for it. */
  onLost(link: ServerLink, cause: string): void;
}

/** What carries a session: a process with its pipes, or HTTP connections. */
interface Carrier {
  readonly transport: Transport;
  readonly pid: () => number | undefined;
  readonly stderr: () => string;
  readonly causeOfEnd: () => string | undefined;
  readonly refusedWith: () => number | undefined;
  close(): Promise<void>;
}

type Sdk = 'v1' | 'v2';
type Lose = (cause: string) => void;
type OpenCarrier = (sdk: Sdk, lose: Lose) => Promise<Carrier>;

const OPEN_SESSION: Readonly<Record<Sdk, OpenSession>> = { v1: openV1, v2: openV2 };

/** Opens the server with the client and over the transport that its config asks for. Rejects leaving nothing open. */
export async function openLink(
  config: ServerConfig,
  options: ConnectionOptions,
  signal: AbortSignal,
  hooks: LinkHooks,
): Promise<ServerLink> {
  const carriers = config.kind === 'stdio' ? [stdioCarrier(config, options)] : remoteCarriers(config);
  let refusal: unknown;
  for (const openCarrier of carriers) {
    try {
      return await openWithSdk(config, openCarrier, options, signal, hooks);
    } catch (error) {
      refusal ??= error;
      // Another way is tried only where the server is there and does not want this one.
      if (signal.aborted || !(error instanceof HttpRefusal)) break;
    }
  }
  throw refusal instanceof HttpRefusal ? refusal.cause : refusal;
}

/** The server answered the first request with a 4xx status: it may speak the other HTTP transport. */
class HttpRefusal extends Error {
  readonly status: number;

  constructor(status: number, cause: unknown) {
    super(`refused with HTTP ${status}`, { cause });
    this.status = status;
  }
}

/** The server answered `initialize` with a JSON-RPC error: it may speak the newer protocol alone. */
class ProtocolRefusal extends Error {}

async function openWithSdk(
  config: ServerConfig,
  openCarrier: OpenCarrier,
  options: ConnectionOptions,
  signal: AbortSignal,
  hooks: LinkHooks,
): Promise<ServerLink> {
  const order: Record<ProtocolChoice, readonly Sdk[]> = { auto: ['v1', 'v2'], v1: ['v1'], v2: ['v2'] };
  let refusal: unknown;
  let onlyMissing = false;
  for (const sdk of order[config.protocol]) {
    try {
      return await openOnce(config, sdk, openCarrier, options, signal, hooks);
    } catch (error) {
      const peerMissing = ObservatoryError.isInstance(error) && error.code === 'MISSING_PEER';
      // The first answer counts; that a client is not installed is none while the other one has not been tried.
      if (refusal === undefined || onlyMissing) refusal = error;
      onlyMissing = peerMissing;
      // A server of the newer protocol alone refuses the older handshake, over HTTP with status 400.
      const refusedHandshake =
        error instanceof ProtocolRefusal || (error instanceof HttpRefusal && error.status === 400);
      if (signal.aborted || !(refusedHandshake || peerMissing)) break;
    }
  }
  throw refusal instanceof ProtocolRefusal ? refusal.cause : refusal;
}

async function openOnce(
  config: ServerConfig,
  sdk: Sdk,
  openCarrier: OpenCarrier,
  options: ConnectionOptions,
  signal: AbortSignal,
  hooks: LinkHooks,
): Promise<ServerLink> {
  let link: ServerLink | undefined;
  let lost: string | undefined;
  let closing = false;
  const lose: Lose = (cause) => {
    if (closing || lost !== undefined) return;
    lost = cause;
    if (link !== undefined) hooks.onLost(link, cause);
  };
  const carrier = await openCarrier(sdk, lose);
  const watch = watchFirstAnswer(carrier.transport);
  // Aborting the request alone would leave a probing client waiting; without a transport everything ends.
  const onAbort = () => void carrier.close();
  signal.addEventListener('abort', onAbort);
  try {
    signal.throwIfAborted();
    const session = await OPEN_SESSION[sdk](carrier.transport, {
      server: config.name,
      handlers: options.handlers ?? {},
      signal,
      onToolsChanged: hooks.onToolsChanged,
      onClose: () => lose(carrier.causeOfEnd() ?? 'the connection was closed'),
      onError: (error) => diag.debug(`mcp-observatory: server "${config.name}":`, error.message),
    });
    link = {
      session,
      pid: carrier.pid(),
      stderr: carrier.stderr,
      lost: () => lost,
      close: async () => {
        closing = true;
        await carrier.close();
      },
    };
    return link;
  } catch (cause) {
    closing = true;
    await carrier.close();
    const status = carrier.refusedWith();
    if (status !== undefined && status >= 400 && status < 500 && status !== 401 && status !== 403) {
      throw new HttpRefusal(status, cause);
    }
    if (watch.refused()) throw new ProtocolRefusal('refused', { cause });
    throw describeEnd(config, carrier, cause);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Tells whether the server's first answer was an error, which is its refusal of the handshake. */
function watchFirstAnswer(transport: Transport): { refused(): boolean } {
  let first: 'result' | 'error' | undefined;
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    if (message.method === undefined) first ??= message.error === undefined ? 'result' : 'error';
    onmessage?.(message, extra);
  };
  return { refused: () => first === 'error' };
}

/** "Connection closed" is what the SDK says when a process ends; its exit code and stderr say more. */
function describeEnd(config: ServerConfig, carrier: Carrier, cause: unknown): unknown {
  const end = carrier.causeOfEnd();
  if (end === undefined || ObservatoryError.isInstance(cause)) return cause;
  const said = carrier.stderr().trim().slice(-1_000);
  return new ObservatoryError(
    'SERVER_UNAVAILABLE',
    `Server "${config.name}": ${end} before it was ready.${said === '' ? '' : ` Its last words on stderr: ${said}`}`,
    { cause },
  );
}

function stdioCarrier(config: StdioServerConfig, options: ConnectionOptions): OpenCarrier {
  return async () => {
    const transport = new StdioTransport(config, options);
    return {
      transport,
      pid: () => transport.pid,
      stderr: () => transport.stderr,
      causeOfEnd: () => transport.causeOfEnd,
      refusedWith: () => undefined,
      close: () => transport.close(),
    };
  };
}

function remoteCarriers(config: RemoteServerConfig): readonly OpenCarrier[] {
  const open =
    (kind: 'http' | 'sse'): OpenCarrier =>
    async (sdk, lose) => {
      let causeOfEnd: string | undefined;
      const remote = await openRemoteTransport(config, {
        sdk,
        kind,
        onLost: (error) => {
          causeOfEnd ??= reasonOf(error);
          lose(causeOfEnd);
        },
      });
      return {
        transport: remote.transport,
        pid: () => undefined,
        stderr: () => '',
        causeOfEnd: () => causeOfEnd,
        refusedWith: remote.refusedWith,
        close: remote.close,
      };
    };
  if (config.transport === 'auto') return [open('http'), open('sse')];
  return [open(config.transport)];
}
