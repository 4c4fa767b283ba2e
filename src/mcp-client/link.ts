import { diag } from '@opentelemetry/api';
import { ObservatoryError } from '../base/index.ts';
import { toJsonText } from '../json/index.ts';
import type { ProtocolChoice, RemoteServerConfig, ServerConfig, StdioServerConfig } from './config.ts';
import { unauthorized } from './http-refusal.ts';
import { openRemoteTransport, type RemoteTransport } from './remote-transport.ts';
import { RequestsAtOnce } from './requests-at-once.ts';
import type { McpSession, OpenSession, Transport } from './session.ts';
import { openV1 } from './session-v1.ts';
import { openV2 } from './session-v2.ts';
import { StdioTransport } from './stdio-transport.ts';
import type { ConnectionOptions } from './types.ts';
import { goneBecause, OpenFailure, type ProgramOutput, readReason } from './unavailable.ts';

/** A live session and the process or connections that carry it. */
export interface ServerLink {
  readonly session: McpSession;
  readonly pid: number | undefined;
  stderr(): string;
  /** Why the connection is gone; undefined while it is up. */
  lost(): string | undefined;
  /** Ends the session and its process or connections. Never rejects. */
  close(): Promise<void>;
}

/** Opens a server: {@link openLink}, or a replacement that records or plays back what servers say. */
export type OpenLink = (
  config: ServerConfig,
  options: ConnectionOptions,
  signal: AbortSignal,
  hooks: LinkHooks,
) => Promise<ServerLink>;

export interface LinkHooks {
  onToolsChanged(): void;
  /** The connection ended without `close()`. */
  onLost(link: ServerLink, cause: string): void;
}

/** What carries a session: a process with its pipes, or HTTP connections. */
interface Carrier {
  readonly transport: Transport;
  readonly pid: () => number | undefined;
  readonly output: () => ProgramOutput;
  readonly causeOfEnd: () => string | undefined;
  readonly refusedWith: RemoteTransport['refusedWith'];
  readonly redirect: RemoteTransport['redirect'];
  close(): Promise<void>;
}

type Sdk = 'v1' | 'v2';
type Lose = (cause: string) => void;
type OpenCarrier = (sdk: Sdk, lose: Lose) => Promise<Carrier>;

const OPEN_SESSION: Readonly<Record<Sdk, OpenSession>> = { v1: openV1, v2: openV2 };

/** Opens the server with the client and transport its config asks for. When it rejects, nothing is left open. */
export async function openLink(
  config: ServerConfig,
  options: ConnectionOptions,
  signal: AbortSignal,
  hooks: LinkHooks,
): Promise<ServerLink> {
  const carriers =
    config.kind === 'stdio' ? [stdioCarrier(config, options)] : remoteCarriers(config, options);
  let refusal: unknown;
  for (const openCarrier of carriers) {
    try {
      return await openWithSdk({ config, options, signal, hooks }, openCarrier);
    } catch (error) {
      refusal ??= error;
      // Try the other transport only if the server is up and refuses this one.
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

/** The server answered `initialize` with a JSON-RPC error: it may speak only the newer protocol. */
class ProtocolRefusal extends Error {}

interface Opening {
  readonly config: ServerConfig;
  readonly options: ConnectionOptions;
  readonly signal: AbortSignal;
  readonly hooks: LinkHooks;
}

interface Attempt {
  readonly sdk: Sdk;
  /** The version of the protocol to ask for in place of the SDK's latest. */
  readonly version?: string;
}

const ATTEMPTS: Readonly<Record<ProtocolChoice, readonly Attempt[]>> = {
  auto: [{ sdk: 'v1' }, { sdk: 'v2' }],
  v1: [{ sdk: 'v1' }],
  v2: [{ sdk: 'v2' }],
};

/** Versions that the older protocol has had, the latest first. */
const OLDER_VERSIONS = ['2025-06-18', '2025-03-26', '2024-11-05'];

/** The latest version among those that a server says it takes, where it refuses ours instead of naming its own. */
function namedVersion(refusal: unknown): string | undefined {
  const { data } = refusal as { readonly data?: unknown };
  const said = `${readReason(refusal)} ${toJsonText(data) ?? ''}`;
  return /version/i.test(said) ? OLDER_VERSIONS.find((version) => said.includes(version)) : undefined;
}

function askForVersion(transport: Transport, protocolVersion: string): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const isAsking = message.method === 'initialize';
    return send(isAsking ? { ...message, params: { ...message.params, protocolVersion } } : message, options);
  };
}

async function openWithSdk(opening: Opening, openCarrier: OpenCarrier): Promise<ServerLink> {
  const { config, signal } = opening;
  const attempts = [...ATTEMPTS[config.protocol]];
  let refusal: unknown;
  let onlyMissing = false;
  for (let attempt = attempts.shift(); attempt !== undefined; attempt = attempts.shift()) {
    try {
      return await openOnce(opening, attempt, openCarrier);
    } catch (error) {
      const peerMissing = ObservatoryError.isInstance(error) && error.code === 'MISSING_PEER';
      // Report the first failure. A missing package is a failure only after the other client was tried.
      if (refusal === undefined || (onlyMissing && !peerMissing)) refusal = error;
      onlyMissing = peerMissing;
      // A server that speaks only the newer protocol refuses the older handshake, over HTTP with status 400.
      const refusedHandshake =
        error instanceof ProtocolRefusal || (error instanceof HttpRefusal && error.status === 400);
      if (signal.aborted || !(refusedHandshake || peerMissing)) break;
      const version =
        refusedHandshake && attempt.version === undefined ? namedVersion(error.cause) : undefined;
      if (version !== undefined) attempts.unshift({ ...attempt, version });
    }
  }
  throw refusal instanceof ProtocolRefusal ? refusal.cause : refusal;
}

async function openOnce(
  { config, options, signal, hooks }: Opening,
  { sdk, version }: Attempt,
  openCarrier: OpenCarrier,
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
  if (version !== undefined) askForVersion(carrier.transport, version);
  const watch = watchFirstAnswer(carrier.transport);
  const atOnce = new RequestsAtOnce();
  const guard = options.guard ?? ((_server, _method, _params, answer) => answer());
  // Aborting only the request would leave a probing client waiting; closing the transport ends everything.
  const onAbort = () => void carrier.close();
  signal.addEventListener('abort', onAbort);
  try {
    signal.throwIfAborted();
    const session = await OPEN_SESSION[sdk](carrier.transport, {
      server: config.name,
      handlers: options.handlers ?? {},
      guard: (server, method, params, answer) =>
        atOnce.answer(params, () => guard(server, method, params, answer)),
      signal,
      onToolsChanged: hooks.onToolsChanged,
      onClose: () => lose(carrier.causeOfEnd() ?? 'the connection was closed'),
      onError: (error) => diag.debug(`mcp-observatory: server "${config.name}":`, error.message),
    });
    link = {
      session,
      pid: carrier.pid(),
      stderr: () => carrier.output().stderr,
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
    const refusal = carrier.refusedWith();
    const status = refusal?.status ?? 0;
    if (refusal !== undefined && (status === 401 || status === 403)) throw unauthorized(refusal);
    if (status >= 400 && status < 500) throw new HttpRefusal(status, cause);
    const redirect = carrier.redirect();
    if (redirect !== undefined)
      throw new ObservatoryError(redirect.code, goneBecause(config.name, redirect.message), { cause });
    if (watch.refused()) throw new ProtocolRefusal('refused', { cause });
    throw describeEnd(carrier, cause);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Watches for a first answer that is an error: the server refused the handshake. */
function watchFirstAnswer(transport: Transport): { refused(): boolean } {
  let first: 'result' | 'error' | undefined;
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    if (message.method === undefined) first ??= message.error === undefined ? 'result' : 'error';
    onmessage?.(message, extra);
  };
  return { refused: () => first === 'error' };
}

/** When a process ends, the SDK only says "Connection closed"; its exit code and what it wrote say more. */
function describeEnd(carrier: Carrier, cause: unknown): unknown {
  if (ObservatoryError.isInstance(cause)) return cause;
  const end = carrier.causeOfEnd();
  const isOver = end !== undefined && /^the (?:process|server closed its stdout)/.test(end);
  const why = isOver ? `${end} before it was ready` : (end ?? readReason(cause));
  return new OpenFailure(why, carrier.output(), cause);
}

function stdioCarrier(config: StdioServerConfig, options: ConnectionOptions): OpenCarrier {
  return async () => {
    const transport = new StdioTransport(config, options);
    return {
      transport,
      pid: () => transport.pid,
      output: () => ({ stderr: transport.stderr, stdout: transport.stdout }),
      causeOfEnd: () => transport.causeOfEnd,
      refusedWith: () => undefined,
      redirect: () => undefined,
      close: () => transport.close(),
    };
  };
}

function remoteCarriers(config: RemoteServerConfig, limits: ConnectionOptions): readonly OpenCarrier[] {
  const open =
    (kind: 'http' | 'sse'): OpenCarrier =>
    async (sdk, lose) => {
      let causeOfEnd: string | undefined;
      const remote = await openRemoteTransport(config, {
        sdk,
        kind,
        limits,
        onLost: (error) => {
          causeOfEnd ??= readReason(error);
          lose(causeOfEnd);
        },
      });
      return {
        transport: remote.transport,
        pid: () => undefined,
        output: () => ({ stderr: '' }),
        causeOfEnd: () => causeOfEnd,
        refusedWith: remote.refusedWith,
        redirect: remote.redirect,
        close: remote.close,
      };
    };
  if (config.transport === 'auto') return [open('http'), open('sse')];
  return [open(config.transport)];
}
