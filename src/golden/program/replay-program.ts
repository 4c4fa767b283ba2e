import type { ChildProcess } from 'node:child_process';
import http, { type ClientRequest } from 'node:http';
import * as streams from 'node:stream';
import { errorMessage, writePrivateFileSync } from '../../base/index.ts';
import { parseOrKeep } from '../../json/index.ts';
import {
  formatGolden,
  type Golden,
  GoldenMismatchError,
  inTurns,
  readGolden,
  Scrubber,
  sealGolden,
} from '../file/index.ts';
import { sentTwice } from '../record/index.ts';
import { answerFromGolden, GoldenPlayer, toServer } from '../replay/index.ts';
import { LiveSide } from './live-side.ts';
import { playedProcess } from './played-process.ts';
import { PlayedServers } from './played-servers.ts';
import { ProgramRecorder } from './record-program.ts';
import { type DepartureKind, toReport, writeReport } from './replay-report.ts';
import { say } from './say.ts';
import { installSeams, type NodeRequest, type Seams, type SpawnedCommand } from './seams.ts';
import { tapProcess } from './taps.ts';
import {
  isModelAddress,
  isModelRequest,
  isOpening,
  Lines,
  mayConcern,
  rpcLine,
  rpcMessages,
  toUrl,
} from './traffic.ts';

/** Options of {@link replayProgram}. */
export interface ReplayProgramOptions {
  /** What runs for real; the other side is answered from the golden. */
  readonly live?: 'tools' | 'model' | undefined;
  /** A folder for a {@link ProgramReport}. A process that asks nothing has then not departed: others may. */
  readonly reports?: string | undefined;
  /** Write what the program sends otherwise than in the recording to the golden, as volatile. @defaultValue false */
  readonly learn?: boolean | undefined;
}

/**
 * Answers what this process asks of models and MCP servers from a golden, from now to its end. If it departs from the
 * golden, the process ends with code 1.
 * @throws ObservatoryError the errors of `readGolden`.
 */
export async function replayProgram(path: string, options: ReplayProgramOptions = {}): Promise<void> {
  const replay = new ProgramReplay(path, await readGolden(path), options);
  installSeams(replay);
  process.once('exit', () => {
    if (!replay.finish()) process.exitCode ||= 1;
  });
}

/** What clients call on a socket, beside what every stream has: nothing is late where nothing is sent. */
const OF_SOCKETS = ['setTimeout', 'setNoDelay', 'setKeepAlive', 'ref', 'unref'] as const;

const BOUNDS: ReadonlySet<DepartureKind> = new Set(['tokens', 'cost', 'time']);

class ProgramReplay implements Seams {
  readonly #player: GoldenPlayer;
  readonly #servers: PlayedServers;
  readonly #path: string;
  readonly #golden: Golden;
  readonly #live: ReplayProgramOptions['live'];
  readonly #liveSide: LiveSide;
  readonly #recorder: ProgramRecorder;
  readonly #reports: string | undefined;
  /** Answers what the program asks through `http`; it never listens. */
  readonly #server: http.Server;
  readonly #request = http.request;

  constructor(path: string, golden: Golden, { live, reports, learn }: ReplayProgramOptions) {
    this.#path = path;
    this.#golden = golden;
    this.#live = live;
    this.#reports = reports;
    this.#player = new GoldenPlayer(golden, {
      liveTools: live === 'tools',
      liveModel: live === 'model',
      learn,
    });
    this.#servers = new PlayedServers(golden, this.#player);
    this.#liveSide = new LiveSide(this.#player, this.#servers);
    this.#recorder = new ProgramRecorder(this.#liveSide);
    this.#player.signal.addEventListener('abort', () => sayFailure(this.#player.failure), { once: true });
    this.#server = toServer(
      (request, response) => answerFromGolden(this.#player, request, response),
      (response, error) => {
        const { status, body, headers } = readRefusal(error);
        response.writeHead(status, headers).end(JSON.stringify(body));
      },
    );
  }

  fetch(original: typeof fetch): typeof fetch {
    const real = this.#live === undefined ? original : this.#recorder.fetch(original);
    return async (input, init) => {
      if (!mayConcern(input, init) && !this.#isKnown(input, init)) return await original(input, init);
      const { copy, args } = sentTwice(input, init);
      const url = new URL(copy.url);
      const text = await copy.text();
      const body = parseOrKeep(text);
      const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
      this.#player.scrubber.addEnvironment(process.env);
      if (this.#isOfModel(copy.method, url, body)) {
        if (this.#live === 'model') return await real(...args);
        return await this.#player
          .fetch(url, {
            method: copy.method,
            headers: copy.headers,
            ...readBody(copy, text),
            signal: signal ?? null,
          })
          .catch(refused);
      }
      if (this.#live === 'tools') return await real(...args);
      this.#player.scrubber.addRequest(copy.headers, url);
      if (copy.method === 'POST' && rpcMessages(body) !== undefined)
        return await this.#servers.answer(url, text, signal ?? undefined).catch(refused);
      if (copy.method !== 'POST' && this.#servers.has(url))
        return this.#servers.listen(copy.method, url, signal ?? undefined);
      return await original(...args);
    };
  }

  request(asked: NodeRequest, original: () => ClientRequest): ClientRequest {
    const { url, options, onResponse } = asked;
    if (this.#live === 'model') return this.#recorder.request(asked, original);
    // The body is not known yet.
    if (!this.#isOfModel(options.method ?? 'GET', url, undefined)) return original();
    const [ours, theirs] = streams.duplexPair();
    for (const name of OF_SOCKETS) Object.assign(ours, { [name]: () => ours });
    this.#server.emit('connection', theirs);
    const { agent: _, socketPath: __, ...rest } = options;
    const played = { ...rest, protocol: 'http:', createConnection: () => ours as never };
    return this.#request(played, onResponse);
  }

  spawn(command: SpawnedCommand, original: () => ChildProcess): ChildProcess {
    this.#player.scrubber.addEnvironment(process.env);
    if (this.#live === 'tools') return this.#recorder.spawn(command, original);
    const server = command.isPiped ? this.#servers.spawned(command) : undefined;
    if (server !== undefined) return playedProcess(command, server);
    const start = (): ChildProcess => {
      const child = original();
      if (command.isPiped) this.#refuseServer(child, command);
      return child;
    };
    if (!command.isPiped || !this.#servers.hasOthers) return start();
    const reached = [command.command, ...command.args].join(' ');
    return playedProcess(command, { server: () => this.#servers.other(reached), start });
  }

  unseen(way: string, origin: string, isModel: boolean): void {
    const what = `${way} is not replayed; the program connects to ${origin} itself`;
    if (isModel && this.#live !== 'model') this.#player.missed(new GoldenMismatchError(what));
    else say(what);
  }

  /** A process that turns out to be an MCP server is none that the golden has. */
  #refuseServer(child: ChildProcess, { command, args }: SpawnedCommand): void {
    const lines = new Lines();
    let isSeen = false;
    tapProcess(child, {
      written: (chunk) => {
        if (isSeen) return;
        const [line] = lines.read(chunk);
        if (line === undefined) return;
        isSeen = true;
        const message = rpcLine(line);
        if (message === undefined || !isOpening(message)) return;
        const what = new Scrubber().clean([command, ...args].join(' '));
        this.#player.missed(
          new GoldenMismatchError(`The golden has no MCP server that is started by ${what}`),
        );
        child.kill('SIGKILL');
      },
      read: () => {},
      ended: () => {},
    });
  }

  /** Tells how the program departed from the golden. @returns whether it did not */
  finish(): boolean {
    this.#recorder.end();
    const { failure, turns, played, cassette } = this.#player;
    const asked = played.length + cassette.played + (failure === undefined ? 0 : 1);
    const isOther = this.#reports !== undefined && asked === 0;
    const unused = isOther || failure !== undefined ? undefined : this.#findUnused();
    for (const { message } of turns.findings) say(message);
    if (unused !== undefined) sayFailure(unused);
    const [golden, order] = [this.#golden, turns.findings];
    const exchanges = this.#live === 'model' ? inTurns(this.#liveSide.exchanges) : played;
    const report = toReport({ golden, asked, failure, order, unused, exchanges });
    for (const { kind, message } of report.departures) if (BOUNDS.has(kind)) say(message);
    try {
      if (report.departures.length === 0) this.#keepLearned();
      if (this.#reports !== undefined) writeReport(this.#reports, report);
    } catch (error) {
      sayFailure(error);
      return false;
    }
    return isOther || report.departures.length === 0;
  }

  #keepLearned(): void {
    const { learned } = this.#player;
    const places = Object.keys(learned);
    if (places.length === 0) return;
    const { comparison } = this.#golden;
    const matchers = { ...comparison.matchers, ...learned };
    const golden = sealGolden({ ...this.#golden, comparison: { ...comparison, matchers } });
    writePrivateFileSync(this.#path, formatGolden(golden));
    say(`Volatile in ${this.#path}: ${places.join(', ')}`);
  }

  #findUnused(): GoldenMismatchError | undefined {
    try {
      this.#player.assertFinished(true);
    } catch (error) {
      if (error instanceof GoldenMismatchError) return error;
      throw error;
    }
    return undefined;
  }

  /** Whether the golden holds a request to this address, or a server. */
  #isKnown(...[input, init]: Parameters<typeof fetch>): boolean {
    try {
      const url = toUrl(input);
      const method = init?.method ?? (input instanceof Request ? input.method : 'GET');
      return this.#servers.has(url) || this.#player.knows(method.toUpperCase(), url.pathname);
    } catch {
      return false;
    }
  }

  #isOfModel(method: string, url: URL, body: unknown): boolean {
    if (isModelRequest(method, url, body)) return true;
    if (body === undefined && method === 'POST' && isModelAddress(url)) return true;
    return this.#player.knows(method, url.pathname);
  }
}

function readBody({ method }: Request, text: string): { readonly body?: string } {
  return method === 'GET' || method === 'HEAD' ? {} : { body: text };
}

function sayFailure(error: unknown): void {
  say(errorMessage(error));
}

/** A response that no SDK takes for a fault that goes away; a recorded failure is thrown as it was. */
function refused(error: unknown): Response {
  if (!(error instanceof GoldenMismatchError)) throw error;
  const { status, body, headers } = readRefusal(error);
  return Response.json(body, { status, headers });
}

function readRefusal(error: unknown) {
  const message = errorMessage(error);
  return {
    status: 400,
    headers: { 'content-type': 'application/json', 'x-should-retry': 'false' },
    body: { error: { message, type: 'invalid_request_error', code: 'golden_mismatch', param: null } },
  };
}
