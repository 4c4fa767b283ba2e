/** The parts of a recording under way, without their secrets: each is written as soon as it is known. */
import { basename } from 'node:path';
import { errorMessage, ownTurn } from '../../base/index.ts';
import type { JsonObject } from '../../json/index.ts';
import { Journal, type ProgramHead, type ProgramPart, Scrubber } from '../file/index.ts';
import { say } from './say.ts';

/** Characters of JSON that a recording may hold, and bytes of what passes for it. */
export const MAX_CHARS = 64 * 1024 * 1024;
/** Characters of a part that is written at once; with a larger one the program waits while the event loop turns. */
const MAX_AT_ONCE = 64 * 1024;

export const TOO_LARGE = `it is larger than ${MAX_CHARS} characters`;

/** Where the parts of what a program exchanges go. */
export interface Parts {
  readonly scrubber: Scrubber;
  /** Whether nothing more is taken. */
  readonly isStopped: boolean;
  /** An MCP server is asked for something; it is kept once it has answered. */
  asked?(server: string, tool: string, args: JsonObject): void;
  keep(part: ProgramPart): void;
  /** When the parts so far are written, for which the program waits; undefined if they are. */
  settled(): Promise<void> | undefined;
  /** The program asks a model or a server in a way of which nothing is seen. */
  miss(what: string): void;
  attempt(this: void, work: () => void): void;
  stop(error: unknown): void;
}

/** Does work whose failure ends what is taken, and not the program. */
export const toAttempt =
  (stop: (error: unknown) => void) =>
  (work: () => void): void => {
    try {
      work();
    } catch (error) {
      stop(error);
    }
  };

export class KeptParts implements Parts {
  readonly scrubber = new Scrubber();
  readonly #path: string;
  readonly #head: ProgramHead;
  /** With how many secrets were known when theirs were removed. */
  readonly #parts: (readonly [part: ProgramPart, known: number])[] = [];
  /** Parts whose secrets are still being removed. */
  readonly #pending = new Set<ProgramPart>();
  #settled: Promise<void> | undefined;
  #journal: Journal | undefined;
  #chars = 0;
  #isStopped = false;
  /** Why the golden is not whole. */
  #lack: string | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#head = { test_name: basename(path, '.json'), recorded_at: new Date().toISOString() };
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  keep(part: ProgramPart): void {
    if (this.#isStopped) return;
    const { scrubber } = this;
    scrubber.addEnvironment(process.env);
    if ('call' in part) scrubber.addArguments(part.call.arguments);
    const { size } = scrubber;
    const before = this.#settled;
    if (before === undefined && JSON.stringify(part).length <= MAX_AT_ONCE) {
      this.attempt(() => this.#add(cleanedNow(part, scrubber), size));
      return;
    }
    this.#pending.add(part);
    const settled = this.#addLarge(part, size, before).then(() => {
      if (this.#settled === settled) this.#settled = undefined;
    });
    this.#settled = settled;
  }

  readonly settled = (): Promise<void> | undefined => this.#settled;

  /** A part takes the place of an earlier one: it does not overtake that. */
  async #addLarge(part: ProgramPart, known: number, before: Promise<void> | undefined): Promise<void> {
    await before;
    try {
      const clean = this.#isStopped ? part : await cleanedLarge(part, this.scrubber);
      await ownTurn();
      // At the end of the process what was pending is cleaned at once.
      if (this.#pending.delete(part)) this.#add(clean, known);
    } catch (error) {
      this.#pending.delete(part);
      this.stop(error);
    }
  }

  miss(what: string): void {
    say(what);
    this.#lack ??= what;
  }

  readonly attempt = toAttempt((error) => this.stop(error));

  stop(error: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#lack ??= errorMessage(error);
    say(`The recording ${this.#journal?.path ?? this.#path} is not whole: ${errorMessage(error)}`);
  }

  /** Writes the golden; to be called when the process ends. */
  finish(): void {
    const { size } = this.scrubber;
    for (const part of this.#pending) this.attempt(() => this.#add(cleanedNow(part, this.scrubber), size));
    this.#pending.clear();
    if (this.#journal === undefined) {
      const why = this.#lack === undefined ? 'asked no model and no MCP server' : 'left nothing to record';
      if (!this.#isStopped) say(`The program ${why}; ${this.#path} is not written`);
      return;
    }
    this.attempt(() => {
      // A secret may have been seen after what holds it was kept.
      this.#journal?.finish(
        this.#parts.map(([part, known]) => (known === size ? part : cleanedNow(part, this.scrubber))),
        this.scrubber.clean(this.#lack),
      );
    });
  }

  #add(part: ProgramPart, known: number): void {
    if (this.#isStopped) return;
    this.attempt(() => {
      const text = JSON.stringify(part);
      this.#chars += text.length;
      if (this.#chars > MAX_CHARS) throw new Error(TOO_LARGE);
      this.#journal ??= this.#begin();
      this.#journal.add(text);
      this.#parts.push([part, known]);
    });
  }

  #begin(): Journal {
    const journal = new Journal(this.#path, this.#head);
    if (journal.path !== this.#path)
      say(`Another process has recorded to ${this.#path}; this one is recorded to ${journal.path}`);
    return journal;
  }
}

async function cleanedLarge(part: ProgramPart, scrubber: Scrubber): Promise<ProgramPart> {
  if (!('exchange' in part)) return await scrubber.cleanLarge(part);
  return { ...part, exchange: await scrubber.cleanExchange(part.exchange) };
}

function cleanedNow(part: ProgramPart, scrubber: Scrubber): ProgramPart {
  return 'exchange' in part
    ? { ...part, exchange: scrubber.cleanExchangeNow(part.exchange) }
    : scrubber.clean(part);
}
