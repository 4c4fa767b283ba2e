import type { ChildProcess } from 'node:child_process';
import type { ClientRequest } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { parseOrKeep } from '../../json/index.ts';
import { isEventStream, type Reached } from '../file/index.ts';
import { CassetteRecorder, ModelRecorder, type OpenExchange, sentTwice } from '../record/index.ts';
import { recordedAnswer, ServerRequests } from './http-servers.ts';
import { KeptParts, MAX_CHARS, type Parts, TOO_LARGE } from './kept-parts.ts';
import { say } from './say.ts';
import { installSeams, type NodeRequest, type Seams, type SpawnedCommand } from './seams.ts';
import { ServerNames, ServerTap } from './server-tap.ts';
import { Collected, decoded, Room, readHeaders, tapProcess, tapRequest } from './taps.ts';
import {
  isModelAddress,
  isModelRequest,
  isOpening,
  Lines,
  ModelHosts,
  mayConcern,
  type PassedMessage,
  rpcLine,
  rpcMessages,
  toUrl,
} from './traffic.ts';
import { listenToWorkers } from './workers.ts';

/** Longest first line of a process that may be an MCP server. */
const MAX_FIRST_LINE = 64 * 1024;

/** Records what this process exchanges with models and MCP servers, from now to its end, to one golden. */
export function recordProgram(path: string): void {
  const parts = new KeptParts(path);
  const recorder = new ProgramRecorder(parts);
  installSeams(recorder);
  listenToWorkers((what) => parts.miss(what));
  process.once('exit', () => {
    recorder.end();
    parts.finish();
  });
}

/** Sees what a program exchanges with models and MCP servers. */
export class ProgramRecorder implements Seams {
  readonly #parts: Parts;
  readonly #model: ModelRecorder;
  readonly #servers: CassetteRecorder;
  readonly #names: ServerNames;
  readonly #http: ServerRequests;
  #position = 0;
  /** The number of the message that is read in a chunk. */
  #inChunk: number | undefined;
  readonly #room = new Room(MAX_CHARS);
  readonly #hosts = new ModelHosts();

  constructor(parts: Parts) {
    this.#parts = parts;
    const next = (): number => {
      // Of more than a thousand messages in one chunk the last have one position.
      if (this.#inChunk === undefined) this.#position += 1;
      else this.#inChunk = Math.min(this.#inChunk + 1, 999);
      return this.#position + (this.#inChunk ?? 0) / 1000;
    };
    this.#model = new ModelRecorder(this.#parts.scrubber, {
      next,
      mayHold: (bytes) => this.#mayHold(bytes),
      settled: this.#parts.settled,
      ended: (exchange, { isFromProvider, sdk }) =>
        this.#parts.keep({ exchange, is_from_provider: isFromProvider, sdk }),
    });
    this.#servers = new CassetteRecorder({
      next,
      connected: (server, at, connection) => this.#parts.keep({ server, at, connection }),
      asked: (server, tool, args) => this.#parts.asked?.(server, tool, args),
      called: (call) => this.#parts.keep({ call }),
    });
    this.#names = new ServerNames((server, reached) => this.#parts.keep({ server, reached }));
    this.#http = new ServerRequests(
      (url, connection) => new ServerTap(this.#servers, this.#names, { url }, connection),
    );
  }

  fetch(original: typeof fetch): typeof fetch {
    return async (input, init) => {
      const mayMatter = mayConcern(input, init) || this.#http.isListening(input, init);
      if (this.#parts.isStopped || (!mayMatter && !this.#isOfHost(input, init)))
        return await original(input, init);
      const { copy, args } = sentTwice(input, init);
      const url = new URL(copy.url);
      const answer = original(...args);
      // It is awaited later, and may have failed before.
      answer.catch(() => {});
      const body = new Collected(this.#room);
      return await this.#passed(copy, url, { text: readText(copy, body), body }, answer);
    };
  }

  /** Whether a request without a body goes to a host that was asked as a model. */
  #isOfHost(...[input, init]: Parameters<typeof fetch>): boolean {
    try {
      const method = init?.method ?? (input instanceof Request ? input.method : 'GET');
      const url = toUrl(input);
      if (this.#hosts.has(method, url)) return true;
      this.#hosts.passed(method, url);
    } catch {
      // `fetch` refuses it with its own error.
    }
    return false;
  }

  /** A request that only its body tells apart. */
  async #passed(copy: Request, url: URL, sent: SentBody, answer: Promise<Response>): Promise<Response> {
    // A body that the program wrote is there at once; a stream may go on after its answer, or without end.
    const isSent = sent.text.then(parseOrKeep, () => undefined);
    const isAnswered = answer.then(nextTurn, nextTurn);
    const value = await Promise.race([isSent, isAnswered]);
    let passed: Promise<Response> | undefined;
    this.#parts.attempt(() => {
      passed = this.#recorded(copy, url, sent, value, answer);
    });
    if (passed !== undefined) return await passed;
    void isSent.then(() => sent.body.drop());
    return await answer;
  }

  /** @returns the answer, recorded as it is read; undefined if the request goes to neither a model nor an MCP server. */
  #recorded(
    copy: Request,
    url: URL,
    { text, body }: SentBody,
    value: unknown,
    answer: Promise<Response>,
  ): Promise<Response> | undefined {
    if (body.isOver && isModelAddress(url)) this.#parts.stop(new Error(TOO_LARGE));
    if (this.#parts.isStopped) return undefined;
    if (this.#isOfModel(copy.method, url, value)) return this.#model.pass(copy, text, answer);
    const messages = this.#http.isListening(copy)
      ? []
      : copy.method === 'POST'
        ? rpcMessages(value)
        : undefined;
    if (messages === undefined) return undefined;
    this.#parts.scrubber.addRequest(copy.headers, url);
    const sent = this.#http.sent(url, messages);
    const { attempt, settled } = this.#parts;
    return recordedAnswer(sent, answer, { mayHold: this.#mayHold, attempt, settled });
  }

  #isOfModel(method: string, url: URL, body: unknown): boolean {
    if (!isModelRequest(method, url, body)) return this.#hosts.has(method, url);
    this.#hosts.asked(url);
    return true;
  }

  request({ url }: NodeRequest, original: () => ClientRequest): ClientRequest {
    const request = original();
    const { method } = request;
    const isOfHost = isModelAddress(url) || this.#hosts.has(method, url);
    if (!isOfHost) this.#hosts.passed(method, url);
    if (this.#parts.isStopped || (method !== 'POST' && !isOfHost)) return request;
    let open: OpenExchange | undefined;
    let isSent = false;
    tapRequest(request, this.#room, {
      sent: (bytes) =>
        this.#parts.attempt(() => {
          isSent = true;
          const encoding = String(request.getHeader('content-encoding') ?? '');
          const text = bytes === undefined ? '' : decoded(bytes, encoding).toString('utf8');
          const value = parseOrKeep(text);
          if (rpcMessages(value)?.some(isOpening) === true)
            this.#parts.miss(`An MCP client that uses http is not recorded; it connects to ${url.origin}`);
          if (!this.#isOfModel(method, url, value)) return;
          if (bytes === undefined || !this.#mayHold(text.length))
            return this.#parts.stop(new Error(TOO_LARGE));
          const head = { method, url: url.href, headers: readHeaders(request.getHeaders()) };
          open = this.#model.begin(head, text);
        }),
      wanted: () => !this.#parts.isStopped && (open !== undefined || !isSent),
      arrived: ({ headers }, size) =>
        this.#parts.attempt(() => {
          if (headers['content-encoding'] === undefined && isEventStream(readHeaders(headers)))
            open?.arrived(size);
        }),
      answered: ({ statusCode = 0, headers }, body, isCut) =>
        this.#parts.attempt(() => {
          if (open === undefined) return;
          const fault = isCut ? { code: 'ECONNRESET', message: 'aborted' } : undefined;
          const content = body === undefined ? undefined : decoded(body, headers['content-encoding']);
          if (content === undefined || !this.#mayHold(content.length))
            return this.#parts.stop(new Error(TOO_LARGE));
          open.answered({ status: statusCode, headers: readHeaders(headers) }, content, fault);
        }),
      failed: (error) => this.#parts.attempt(() => open?.failed(error)),
      settled: this.#parts.settled,
    });
    return request;
  }

  spawn({ command, args, env, isPiped }: SpawnedCommand, original: () => ChildProcess): ChildProcess {
    const child = original();
    if (this.#parts.isStopped || !isPiped) return child;
    let server: ServerTap | undefined;
    let isOther = false;
    const written = new Lines(MAX_FIRST_LINE);
    const read = new Lines();
    const begin = (message: PassedMessage | undefined): void => {
      isOther = message === undefined || !isOpening(message);
      if (isOther) return;
      written.limit = MAX_CHARS;
      this.#parts.scrubber.addEnvironment(env);
      this.#parts.scrubber.addOptions(args);
      const reached = this.#parts.scrubber.clean({ command, args } as Reached);
      server = new ServerTap(this.#servers, this.#names, reached);
    };
    const wrote = (chunk: Uint8Array): void => {
      if (isOther || (server !== undefined && !this.#mayHold(chunk.length))) return;
      for (const line of written.read(chunk)) {
        const message = rpcLine(line);
        if (server === undefined) begin(message);
        if (isOther) return;
        if (message !== undefined) server?.client(message);
      }
      if (server === undefined) isOther = written.isLost;
    };
    tapProcess(child, {
      written: (chunk) => this.#parts.attempt(() => wrote(chunk)),
      read: (chunk) =>
        this.#parts.attempt(() => {
          if (server === undefined || !this.#mayHold(chunk.length)) return;
          this.#position += 1;
          this.#inChunk = -1;
          for (const line of read.read(chunk)) {
            const message = rpcLine(line);
            if (message !== undefined) server?.server(message);
          }
          this.#inChunk = undefined;
        }),
      ended: (cause) => this.#parts.attempt(() => server?.lost(cause)),
      settled: this.#parts.settled,
    });
    return child;
  }

  /** Whether the recording has room for more of what passes. If not, it ends. */
  readonly #mayHold = (bytes: number): boolean => {
    if (!this.#parts.isStopped && !this.#room.take(bytes)) this.#parts.stop(new Error(TOO_LARGE));
    return !this.#parts.isStopped;
  };

  unseen(way: string, origin: string, isModel: boolean): void {
    const what = `${way} is not recorded; the program connects to ${origin}`;
    if (isModel) this.#parts.miss(what);
    else say(what);
  }

  /** Takes what is under way; to be called when the process ends. */
  end(): void {
    this.#parts.attempt(() => {
      this.#model.endReading();
      this.#servers.endNotes();
      for (const address of this.#hosts.listUnseen())
        this.#parts.miss(`What was got from ${address} before a model was asked there is not recorded`);
    });
  }
}

/** The body of a request while it is sent. */
type SentBody = { readonly text: Promise<string>; readonly body: Collected };

/** The body of a request, as long as there is room for it. @throws if there is not */
async function readText({ body }: Request, into: Collected): Promise<string> {
  if (body !== null) for await (const chunk of body) into.add(chunk);
  const { bytes } = into;
  if (bytes === undefined) throw new Error(TOO_LARGE);
  return bytes.toString('utf8');
}

/** When what was ready before has been seen. */
async function nextTurn(): Promise<undefined> {
  await setImmediate();
}
