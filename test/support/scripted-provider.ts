/**
 * A scripted model provider: one local HTTP server that speaks Chat Completions, Messages and generateContent, streamed
 * and plain, and refuses what the real APIs refuse (see scripted-rules.ts).
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Api, readRequest, type SeenRequest } from './scripted-request.ts';
import { violations } from './scripted-rules.ts';
import { plainBody, streamBody } from './scripted-wire.ts';

export interface ScriptedCall {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** Sent instead of `arguments`, to play a model that writes no JSON. */
  readonly rawArguments?: string;
}

/** One answer of the model. */
export interface Turn {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly ScriptedCall[];
  readonly usage?: { readonly input: number; readonly output: number; readonly cached?: number };
  /** Stops as if the output limit had been reached. */
  readonly truncated?: boolean;
  /** Declines to answer; `text` says so, where the API lets a refusal say anything. */
  readonly refused?: boolean;
  /** Gemini alone: the model wrote a call that the API could not read. */
  readonly malformedCall?: boolean;
  /** Answers with this status instead, and `text` as the error's message. */
  readonly status?: number;
  readonly errorType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Closes the connection after this many bytes of the body. */
  readonly cutAfterBytes?: number;
  /** Never answers. */
  readonly hang?: boolean;
}

export type Script = readonly Turn[] | ((request: SeenRequest, index: number) => Turn);

/** A model at the wire that keeps what it was asked. */
export interface ModelServer extends AsyncDisposable {
  readonly requests: readonly SeenRequest[];
  /** Rule violations found, as the API's 400 said them. */
  readonly refused: readonly string[];
  /** Base URL in the form the SDK of this API takes. */
  baseUrl(provider: string): string;
  close(): Promise<void>;
}

/**
 * Reads a request and notes it with its server. One that breaks a rule of its API is answered as the API would, and
 * nothing is returned.
 */
export async function receiveRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { requests, refused }: { readonly requests: SeenRequest[]; readonly refused: string[] },
): Promise<{ readonly seen: SeenRequest; readonly index: number; readonly body: string } | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString('utf8');
  const { url = '', headers } = request;
  const seen = readRequest(url, headers, JSON.parse(body) as Record<string, unknown>);
  const index = requests.push(seen) - 1;
  const broken = violations(seen);
  if (broken.length === 0) return { seen, index, body };
  refused.push(...broken);
  sendError(response, seen.api, 400, 'invalid_request_error', broken.join('; '));
  return undefined;
}

export class ScriptedProvider implements ModelServer {
  readonly requests: SeenRequest[] = [];
  readonly refused: string[] = [];
  #server: Server;
  #script: Script;

  private constructor(script: Script) {
    this.#script = script;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        response.writeHead(500).end(String(error));
      });
    });
  }

  static async start(script: Script): Promise<ScriptedProvider> {
    const provider = new ScriptedProvider(script);
    provider.#server.listen(0, '127.0.0.1');
    await once(provider.#server, 'listening');
    return provider;
  }

  baseUrl(provider: string): string {
    const origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return provider === 'openai' ? `${origin}/v1` : origin;
  }

  /** Starts the script anew. */
  play(script: Script): void {
    this.#script = script;
    this.requests.length = 0;
    this.refused.length = 0;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = await receiveRequest(request, response, this);
    if (received === undefined) return;
    const { seen, index } = received;
    const turn = typeof this.#script === 'function' ? this.#script(seen, index) : this.#script[index];
    if (turn === undefined) {
      sendError(response, seen.api, 400, 'script_ended', `the script has no turn ${index}`);
      return;
    }
    if (turn.hang === true) return;
    if (turn.status !== undefined) {
      sendError(response, seen.api, turn.status, turn.errorType, turn.text ?? 'scripted', turn.headers);
      return;
    }
    const text = seen.stream ? streamBody(seen, turn, index) : JSON.stringify(plainBody(seen, turn, index));
    response.writeHead(200, {
      'content-type': seen.stream ? 'text/event-stream' : 'application/json',
      ...turn.headers,
    });
    if (turn.cutAfterBytes === undefined) {
      response.end(text);
      return;
    }
    response.write(text.slice(0, turn.cutAfterBytes), () => response.destroy());
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** An error in the form of an API. */
function sendError(
  response: ServerResponse,
  api: Api,
  status: number,
  type: string | undefined,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const kind = type ?? 'server_error';
  const body =
    api === 'gemini'
      ? { error: { code: status, message, status: kind } }
      : api === 'anthropic'
        ? { type: 'error', error: { type: kind, message } }
        : { error: { message, type: kind, code: kind, param: null } };
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
