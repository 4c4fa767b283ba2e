/**
 * What AWS Lambda does around a function: it hands out one event at a time, and while there is none, nothing of the process
 * runs. docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
 */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

const TIME_MS = 30_000;

export class LambdaEmulator implements AsyncDisposable {
  readonly #server: Server;
  readonly #pid: () => number;
  /** Requests for an event, of which there is one at a time. */
  readonly #idle = new EventEmitter();
  #asking: ServerResponse | undefined;
  #answer = '';
  #calls = 0;

  private constructor(pid: () => number) {
    this.#pid = pid;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** @param pid of the process, once there is one. */
  static async start(pid: () => number): Promise<LambdaEmulator> {
    const emulator = new LambdaEmulator(pid);
    await new Promise<void>((resolve) => emulator.#server.listen(0, '127.0.0.1', resolve));
    return emulator;
  }

  /** For `AWS_LAMBDA_RUNTIME_API`. */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Calls the function, and gives its answer when it is frozen again. @param signal once the process has ended */
  async call(event: object, signal: AbortSignal): Promise<string> {
    const response = await this.#next(signal);
    this.#asking = undefined;
    this.#calls += 1;
    response.setHeader('lambda-runtime-aws-request-id', String(this.#calls));
    response.setHeader('lambda-runtime-deadline-ms', String(Date.now() + TIME_MS));
    response.setHeader(
      'lambda-runtime-invoked-function-arn',
      'arn:aws:lambda:eu-west-1:123456789012:function:app',
    );
    process.kill(this.#pid(), 'SIGCONT');
    response.end(JSON.stringify(event));
    await this.#next(signal);
    return this.#answer;
  }

  async #next(signal: AbortSignal): Promise<ServerResponse> {
    if (this.#asking === undefined) await once(this.#idle, 'asking', { signal });
    return this.#asking as ServerResponse;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.endsWith('/next')) {
      if (this.#calls > 0) process.kill(this.#pid(), 'SIGSTOP');
      this.#asking = response;
      this.#idle.emit('asking');
    } else {
      this.#answer = await text(request);
      response.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
