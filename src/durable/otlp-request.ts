import { type Agent, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';

/** Where and how OTLP requests are sent. */
export interface OtlpTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly agent?: Agent | undefined;
  /** Certificates, where there is no agent that has them. */
  readonly tls?: OtlpTls | undefined;
}

export interface OtlpTls {
  readonly ca?: unknown;
  readonly cert?: unknown;
  readonly key?: unknown;
}

/** An answer that is not a success. */
export class OtlpStatusError extends Error {
  override readonly name = 'OtlpStatusError';
  /** The HTTP status. */
  readonly code: number;

  constructor(url: string, status: number) {
    super(`${withoutSecrets(url)} answered with status ${status}`);
    this.code = status;
  }
}

interface PostOptions {
  /** Ends the request. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the process waits for the answer before it ends. @defaultValue true */
  readonly keepsAlive?: boolean | undefined;
}

/** Answers are short; more is not read. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/**
 * Posts a body once, without retries.
 * @returns the body of the answer.
 * @throws OtlpStatusError for an answer that is no success; else the error of the connection, with its `code`
 *   (`ETIMEDOUT` after `timeoutMs`), or the reason of `signal`.
 */
export function postOtlp(
  target: OtlpTarget,
  body: Uint8Array,
  { signal, keepsAlive = true }: PostOptions = {},
): Promise<Buffer> {
  const url = new URL(target.url);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const { headers, agent, tls } = target;
    const call = send(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': body.byteLength },
      ...(agent === undefined ? (tls as object | undefined) : { agent }),
      ...(signal === undefined ? {} : { signal }),
    });
    const timer = setTimeout(() => {
      const message = `${withoutSecrets(target.url)} gave no answer within ${target.timeoutMs} ms`;
      call.destroy(Object.assign(new Error(message), { code: 'ETIMEDOUT' }));
    }, target.timeoutMs).unref();
    call.on('close', () => clearTimeout(timer));
    if (!keepsAlive) call.on('socket', (socket) => void socket.unref());
    call.on('error', reject);
    call.on('response', (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) call.destroy(new Error('the answer is too long'));
        else chunks.push(chunk);
      });
      answer.on('error', reject);
      answer.on('end', () => {
        const status = answer.statusCode ?? 0;
        if (status >= 200 && status < 300) resolve(Buffer.concat(chunks));
        else reject(new OtlpStatusError(target.url, status));
      });
    });
    call.end(body);
  });
}

/** A URL for messages: without user, password and query, which may hold keys. */
export function withoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
