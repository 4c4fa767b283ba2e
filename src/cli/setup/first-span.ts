/** Runs a program once and waits until a span of it arrives. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { isPackageScope } from '../../base/index.ts';
import { startTree } from '../../mcp-client/index.ts';
import { decodeJson, decodeProtobuf, type ReceivedSpan } from '../../otlp/index.ts';
import { RECEIVER } from './clients.ts';

const MAX_BODY_BYTES = 8 * 1024 * 1024;
const MAX_SPANS = 100_000;
const MAX_TAIL_CHARS = 4096;
/** How long a program that was told to end may take. */
const CLOSE_MS = 3000;

export interface FirstSpan {
  /** The first span of ours; null where none came. */
  readonly span: { readonly name: string; readonly scope: string } | null;
  /** Spans of others that came. */
  readonly others: number;
  /** How it ended; null if it still ran. */
  readonly exit: number | string | null;
  readonly output: string;
  /** Whether what listens where spans go by default has taken it too. */
  readonly isShown: boolean;
}

interface Program {
  /** A command of a shell. */
  readonly command: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether it is an MCP server that reads its stdin, so that it is greeted there. */
  readonly isStdioServer: boolean;
  readonly waitMs: number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Called once with the first address of this machine that the program prints: it may wait for requests there. */
  readonly onAddress: (url: URL) => void;
}

/** What a client of MCP says first. */
const GREETING = [
  {
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'mcp-observatory-setup', version: '1' },
    },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list' },
].map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

const MAX_CODE_BYTES = 8 * 1024 * 1024;
const MAX_FILES = 500;
const ON_STDIO = /\bStdio(?:Server)?Transport\b|server\/stdio/;
const IMPORTED = /(?:\bfrom|\bimport|\brequire\() ?['"]((?:@[\w.-]+\/)?[\w.-]+)/g;

/** Whether a file starts an MCP server that reads its stdin: itself, or by a framework that it imports. */
export function isOnStdio(entry: string): boolean {
  const text = readCode(entry);
  if (ON_STDIO.test(text)) return true;
  const { paths } = createRequire(entry).resolve;
  const names = new Set([...text.matchAll(IMPORTED)].map(([, name = '']) => name));
  // The SDKs hold all transports, and start none.
  return [...names]
    .filter((name) => !name.startsWith('@modelcontextprotocol/'))
    .flatMap((name) => (paths(name) ?? []).map((place) => join(place, name)))
    .some((folder) => listCode(folder).some((file) => ON_STDIO.test(readCode(file))));
}

function readCode(file: string): string {
  return statSync(file).size > MAX_CODE_BYTES ? '' : readFileSync(file, 'utf8');
}

/** Files of a package. */
function listCode(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[cm]?js$/.test(name) && !name.includes('node_modules'))
    .slice(0, MAX_FILES)
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

/** Sends MCP's handshake to where most servers over HTTP have their endpoint. A server that is not MCP refuses it. */
export async function greetOverHttp({ origin }: URL): Promise<void> {
  const headers = new Headers({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  });
  for (const body of GREETING) {
    const signal = AbortSignal.timeout(CLOSE_MS);
    const answer = await fetch(`${origin}/mcp`, {
      method: 'POST',
      headers,
      body,
      signal,
      redirect: 'error',
    }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok !== true) return;
    const session = answer.headers.get('mcp-session-id');
    if (session !== null) headers.set('mcp-session-id', session);
  }
}

export async function awaitFirstSpan(program: Program): Promise<FirstSpan> {
  const arrived = new Arrived();
  const server = createServer((request, response) => {
    void readSpans(request)
      .then(
        ({ spans, body }) => arrived.add(spans, () => sendOn(request, body, program.env)),
        () => {},
      )
      .then(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const result = await runProgram(program, server, arrived);
    return { ...result, isShown: await arrived.isShown };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** The first span of ours that arrives, and how many of others do. */
class Arrived {
  span: FirstSpan['span'] = null;
  others = 0;
  isShown: Promise<boolean> | false = false;
  onFirst: () => void = () => {};

  /** @param show sends them on. */
  add(spans: readonly ReceivedSpan[], show: () => Promise<boolean>): void {
    for (const { name, instrumentationScope, attributes } of spans) {
      const scope = instrumentationScope.name;
      const isOurs =
        isPackageScope(scope) || Object.keys(attributes).some((key) => key.startsWith('observatory.'));
      if (!isOurs) this.others++;
      else if (this.span === null) this.span = { name, scope };
    }
    if (this.span !== null && this.isShown === false) this.isShown = show();
    if (this.span !== null) this.onFirst();
  }
}

/** Where spans go by default, an `up` may show them. */
async function sendOn({ headers }: IncomingMessage, body: Buffer, env: Program['env']): Promise<boolean> {
  const isElsewhere = Object.keys(env).some((name) => /^OTEL_EXPORTER_OTLP_(?:TRACES_)?ENDPOINT$/.test(name));
  if (isElsewhere) return false;
  const { 'content-type': type = '', 'content-encoding': encoding } = headers;
  const sent = { 'content-type': type, ...(encoding === undefined ? {} : { 'content-encoding': encoding }) };
  const signal = AbortSignal.timeout(CLOSE_MS);
  const request: RequestInit = {
    method: 'POST',
    headers: sent,
    body: new Uint8Array(body),
    signal,
    redirect: 'error',
  };
  return await fetch(`${RECEIVER}/v1/traces`, request).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function readSpans(
  request: IncomingMessage,
): Promise<{ spans: readonly ReceivedSpan[]; body: Buffer }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  if (request.url !== '/v1/traces' || bytes > MAX_BODY_BYTES) return { spans: [], body };
  const { 'content-encoding': encoding, 'content-type': type = '' } = request.headers;
  const plain = encoding === 'gzip' ? gunzipSync(body, { maxOutputLength: MAX_BODY_BYTES }) : body;
  return {
    ...(type.includes('json') ? decodeJson(plain, MAX_SPANS) : decodeProtobuf(plain, MAX_SPANS)),
    body,
  };
}

async function runProgram(
  program: Program,
  server: Server,
  arrived: Arrived,
): Promise<Omit<FirstSpan, 'isShown'>> {
  const { command, folder, isStdioServer, waitMs, signal } = program;
  const { port } = server.address() as AddressInfo;
  const { child, end } = startTree((own) =>
    spawn(command, {
      cwd: folder,
      shell: true,
      detached: own.detached,
      stdio: [isStdioServer ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      env: { ...program.env, ...variables(`http://127.0.0.1:${port}`), ...own.env },
    }),
  );
  const output = keepTail(child, program.onAddress);
  const exit = new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, ended) => resolve(code ?? ended ?? 'unknown'));
  });
  if (isStdioServer) child.stdin?.on('error', () => {}).write(GREETING.join(''));
  let timer: NodeJS.Timeout | undefined;
  const stopped = new Promise<null>((resolve) => {
    arrived.onFirst = () => resolve(null);
    timer = setTimeout(resolve, waitMs, null);
    signal.addEventListener('abort', () => resolve(null), { once: true });
  });
  const ended = await Promise.race([exit, stopped]).finally(() => clearTimeout(timer));
  await end(exit, CLOSE_MS);
  return { span: arrived.span, others: arrived.others, exit: ended, output: output() };
}

/** Has every SDK send its spans to us, soon. */
function variables(endpoint: string): Readonly<Record<string, string | undefined>> {
  return {
    OTEL_SDK_DISABLED: undefined,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint}/v1/traces`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_TRACES_SAMPLER: 'always_on',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_BSP_SCHEDULE_DELAY: '200',
    // The receiver is ours: on a busy machine a program that ends at once still sends its span.
    MCP_OBSERVATORY_EXIT_DEADLINE_MS: '10000',
  };
}

const ADDRESS = /\bhttps?:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):\d{1,5}\b/;

/** @returns gives the end of what a program has printed. */
function keepTail({ stdout, stderr }: ChildProcess, onAddress: (url: URL) => void): () => string {
  let tail = '';
  let isAddressTold = false;
  for (const stream of [stdout, stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      tail = `${tail}${chunk}`.slice(-MAX_TAIL_CHARS);
      const address = isAddressTold ? undefined : ADDRESS.exec(stripVTControlCharacters(tail))?.[0];
      if (!URL.canParse(address ?? '')) return;
      isAddressTold = true;
      onAddress(new URL(address as string));
    });
  }
  return () => tail;
}
