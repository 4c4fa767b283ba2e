import type { ChildProcess } from 'node:child_process';
import type { ClientRequest } from 'node:http';
import { basename } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { errorMessage } from '../../base/index.ts';
import { parseOrKeep } from '../../json/index.ts';
import {
  isEventStream,
  Journal,
  type ProgramHead,
  type ProgramPart,
  type Reached,
  Scrubber,
} from '../file/index.ts';
import { CassetteRecorder, ModelRecorder, type OpenExchange, sentTwice } from '../record/index.ts';
import { recordedAnswer, ServerRequests } from './http-servers.ts';
import { say } from './say.ts';
import { installSeams, type NodeRequest, type Seams, type SpawnedCommand } from './seams.ts';
import { ServerNames, ServerTap } from './server-tap.ts';
import { decoded, tapProcess, tapRequest } from './taps.ts';
import {
  isModelAddress,
  isModelRequest,
  isOpening,
  Lines,
  mayConcern,
  rpcLine,
  rpcMessages,
} from './traffic.ts';

/** As for runs of `mcpGhost`. */
const EXPIRY_DAYS = 180;
/** Characters of JSON that a recording may hold. */
const MAX_CHARS = 64 * 1024 * 1024;

/** Records what this process exchanges with models and MCP servers, from now to its end, to one golden. */
export function recordProgram(path: string): void {
  const recorder = new ProgramRecorder(path);
  installSeams(recorder);
  process.once('exit', () => recorder.finish());
}

class ProgramRecorder implements Seams {
  readonly #path: string;
  readonly #head: ProgramHead;
  readonly #scrubber = new Scrubber();
  readonly #parts: ProgramPart[] = [];
  /** Parts whose secrets are still being removed. */
  readonly #pending = new Set<ProgramPart>();
  readonly #model: ModelRecorder;
  readonly #servers: CassetteRecorder;
  readonly #names: ServerNames;
  readonly #http: ServerRequests;
  #journal: Journal | undefined;
  #position = 0;
  /** The number of the message that is read in a chunk. */
  #inChunk: number | undefined;
  #chars = 0;
  #isStopped = false;

  constructor(path: string) {
    this.#path = path;
    this.#head = {
      test_name: basename(path, '.json'),
      recorded_at: new Date().toISOString(),
      expires_in_days: EXPIRY_DAYS,
    };
    const next = (): number => {
      // Of more than a thousand messages in one chunk the last have one position.
      if (this.#inChunk === undefined) this.#position += 1;
      else this.#inChunk = Math.min(this.#inChunk + 1, 999);
      return this.#position + (this.#inChunk ?? 0) / 1000;
    };
    this.#model = new ModelRecorder(this.#scrubber, {
      next,
      ended: (exchange, { isFromProvider, sdk }) =>
        this.#keep({ exchange, is_from_provider: isFromProvider, sdk }),
    });
    this.#servers = new CassetteRecorder({
      next,
      connected: (server, at, connection) => this.#keep({ server, at, connection }),
      called: (call) => this.#keep({ call }),
    });
    this.#names = new ServerNames((server, reached) => this.#keep({ server, reached }));
    this.#http = new ServerRequests((url) => new ServerTap(this.#servers, this.#names, { url }));
  }

  fetch(original: typeof fetch): typeof fetch {
    return async (input, init) => {
      if (this.#isStopped || !mayConcern(input, init)) return await original(input, init);
      const sent = sentTwice(input, init);
      const { copy } = sent;
      const url = new URL(copy.url);
      const answer = original(...sent.args);
      // It is awaited later, and may have failed before.
      answer.catch(() => {});
      const text = copy.text();
      return await this.#passed(copy, url, text, answer);
    };
  }

  /** A request that only its body tells apart. */
  async #passed(
    copy: Request,
    url: URL,
    text: Promise<string>,
    answer: Promise<Response>,
  ): Promise<Response> {
    // A body that the program wrote is there at once; a stream may go on after its answer, or without end.
    const isSent = text.then(parseOrKeep, () => undefined);
    const isAnswered = answer.then(nextTurn, nextTurn);
    const body = await Promise.race([isSent, isAnswered]);
    if (isModelRequest(copy.method, url, body)) return await this.#model.pass(copy, text, answer);
    const messages = copy.method === 'POST' ? rpcMessages(body) : undefined;
    if (messages === undefined) return await answer;
    this.#scrubber.addHeaders(copy.headers);
    this.#scrubber.addNamed({ ...Object.fromEntries(copy.headers), ...Object.fromEntries(url.searchParams) });
    return await recordedAnswer(this.#http.sent(url, messages), answer);
  }

  request({ url }: NodeRequest, original: () => ClientRequest): ClientRequest {
    const request = original();
    if (this.#isStopped || (request.method !== 'POST' && !isModelAddress(url))) return request;
    let open: OpenExchange | undefined;
    tapRequest(request, {
      sent: (bytes) => {
        const text = decoded(bytes, String(request.getHeader('content-encoding') ?? '')).toString('utf8');
        const head = { method: request.method, url: url.href, headers: readHeaders(request.getHeaders()) };
        if (isModelRequest(request.method, url, parseOrKeep(text))) open = this.#model.begin(head, text);
      },
      arrived: ({ headers }, size) => {
        if (headers['content-encoding'] === undefined && isEventStream(readHeaders(headers)))
          open?.arrived(size);
      },
      answered: ({ statusCode = 0, headers }, body, isCut) => {
        const fault = isCut ? { code: 'ECONNRESET', message: 'aborted' } : undefined;
        const content = decoded(body, headers['content-encoding']);
        open?.answered({ status: statusCode, headers: readHeaders(headers) }, content, fault);
      },
      failed: (error) => open?.failed(error),
    });
    return request;
  }

  spawn({ command, args, env, isPiped }: SpawnedCommand, original: () => ChildProcess): ChildProcess {
    const child = original();
    if (this.#isStopped || !isPiped) return child;
    let server: ServerTap | undefined;
    let isOther = false;
    const [written, read] = [new Lines(), new Lines()];
    tapProcess(child, {
      written: (chunk) => {
        if (isOther) return;
        for (const line of written.read(chunk)) {
          const message = rpcLine(line);
          if (server === undefined && (message === undefined || !isOpening(message))) {
            isOther = true;
            return;
          }
          if (server === undefined) {
            this.#scrubber.addNamed(env);
            this.#scrubber.addOptions(args);
          }
          server ??= new ServerTap(
            this.#servers,
            this.#names,
            this.#scrubber.clean({ command, args } as Reached),
          );
          if (message !== undefined) server.client(message);
        }
      },
      read: (chunk) => {
        if (server === undefined) return;
        this.#position += 1;
        this.#inChunk = -1;
        for (const line of read.read(chunk)) {
          const message = rpcLine(line);
          if (message !== undefined) server?.server(message);
        }
        this.#inChunk = undefined;
      },
      ended: (cause) => server?.lost(cause),
    });
    return child;
  }

  /** Writes the golden; to be called when the process ends. */
  finish(): void {
    this.#model.endReading();
    for (const part of this.#pending) this.#try(() => this.#add(cleanedNow(part, this.#scrubber)));
    this.#pending.clear();
    if (this.#journal === undefined) {
      if (!this.#isStopped) say(`The program asked no model and no MCP server; ${this.#path} is not written`);
      return;
    }
    this.#try(() => {
      // A secret may have been seen after what holds it was kept.
      this.#journal?.finish(
        this.#parts.map((part) => cleanedNow(part, this.#scrubber)),
        !this.#isStopped,
      );
    });
  }

  #keep(part: ProgramPart): void {
    if (this.#isStopped) return;
    this.#pending.add(part);
    const cleaned =
      'exchange' in part
        ? this.#scrubber.cleanExchange(part.exchange).then((exchange) => ({ ...part, exchange }))
        : this.#scrubber.cleanLarge(part);
    cleaned.then(
      (clean) => {
        // At the end of the process what was pending is cleaned at once.
        if (this.#pending.delete(part)) this.#add(clean);
      },
      (error: unknown) => {
        this.#pending.delete(part);
        this.#stop(error);
      },
    );
  }

  #add(part: ProgramPart): void {
    if (this.#isStopped) return;
    this.#try(() => {
      this.#chars += JSON.stringify(part).length;
      if (this.#chars > MAX_CHARS) throw new Error(`it is larger than ${MAX_CHARS} characters`);
      this.#journal ??= new Journal(this.#path, this.#head);
      this.#journal.add(part);
      this.#parts.push(part);
    });
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#stop(error);
    }
  }

  #stop(error: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    say(`The recording ${this.#path} is not whole: ${errorMessage(error)}`);
  }
}

function cleanedNow(part: ProgramPart, scrubber: Scrubber): ProgramPart {
  return 'exchange' in part
    ? { ...part, exchange: scrubber.cleanExchangeNow(part.exchange) }
    : scrubber.clean(part);
}

/** When what was ready before has been seen. */
async function nextTurn(): Promise<undefined> {
  await setImmediate();
}

/** Headers of `http` as those of `fetch`. */
function readHeaders(headers: Readonly<Record<string, unknown>>): Headers {
  const out = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined) out.append(name, String(one));
  }
  return out;
}
