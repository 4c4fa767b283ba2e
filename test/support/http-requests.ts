/** Requests to a server over HTTP, byte for byte, and what a collector saw of them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { OtlpCollector } from './otlp-collector.ts';
import { PATIENT } from './programs.ts';

const REGISTER = new URL('../../src/setup/register.js', import.meta.url).href;

export const TRACE = '0af7651916cd43dd8448eb211c80319c';
export const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`;
export const SESSION = { 'mcp-session-id': 'one', 'mcp-protocol-version': '2025-06-18' };
export const rpc = (method: string, id?: number, params: object = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });
export const OPENING = rpc('initialize', 0, {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'tester', version: '1' },
});
export const call = (id: number, text = 'é', more: object = {}) =>
  rpc('tools/call', id, { name: 'echo', arguments: { text }, ...more });

export function post(
  path: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const bytes = Buffer.from(body as string);
  const all = {
    host: 'x',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'content-length': String(bytes.length),
    ...headers,
  };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n`), bytes]);
}

/** Sends requests over one connection, in pieces, and reads until it ends, or as far as `cutAt`: then nothing is told. */
async function talk(port: number, pieces: readonly Buffer[], cutAt?: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const got: Buffer[] = [];
  const closed = new Promise((done) => socket.on('close', done));
  socket.on('data', (piece: Buffer) => {
    got.push(piece);
    if (cutAt !== undefined && Buffer.concat(got).length >= cutAt) socket.destroy();
  });
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise((done) => setImmediate(done));
  }
  if (cutAt === 0) socket.destroy();
  await closed;
  // Where it is cut depends on the network.
  if (cutAt !== undefined) return '';
  return Buffer.concat(got)
    .toString('latin1')
    .replace(/^date: .*$/gim, '');
}

export type Talks = readonly (readonly [pieces: readonly Buffer[], cutAt?: number])[];

/** @returns what a server has answered. */
export async function run(program: string, args: readonly string[], url: string | undefined, talks: Talks) {
  const flags = url === undefined ? [] : ['--import', REGISTER];
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url ?? '', OTEL_METRICS_EXPORTER: 'none', ...PATIENT };
  const child = spawn(process.execPath, [...flags, program, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  let said = '';
  for await (const piece of child.stderr) {
    said += String(piece);
    if (/port \d+/.test(said)) break;
  }
  const port = Number(/port (\d+)/.exec(said)?.[1]);
  const answers: string[] = [];
  for (const [pieces, cutAt] of talks) answers.push(await talk(port, pieces, cutAt));
  await talk(port, [Buffer.from('GET /end HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')]);
  await exited;
  return answers;
}

/** Headers of the last request on a connection. */
export const LAST = { connection: 'close' };

export const seenBy = ({ spans }: OtlpCollector) =>
  // Each once: what is on its way at a sudden exit may be sent again.
  [...new Map(spans.map((span) => [span.spanId, span])).values()]
    .map(({ name, status, attributes }) =>
      [attributes['jsonrpc.request.id'], name, status.code, attributes['error.type']].join(' ').trim(),
    )
    .sort();
