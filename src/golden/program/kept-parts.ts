/** The parts of a recording under way, without their secrets: each is written as soon as it is known. */
import { basename } from 'node:path';
import { errorMessage } from '../../base/index.ts';
import { Journal, type ProgramHead, type ProgramPart, Scrubber } from '../file/index.ts';
import { say } from './say.ts';

/** Characters of JSON that a recording may hold, and bytes of what passes for it. */
export const MAX_CHARS = 64 * 1024 * 1024;
/** Characters of a part that is written before the program goes on, which may then be killed. */
const MAX_AT_ONCE = 64 * 1024;

export const TOO_LARGE = `it is larger than ${MAX_CHARS} characters`;

export class KeptParts {
  readonly scrubber = new Scrubber();
  readonly #path: string;
  readonly #head: ProgramHead;
  /** With how many secrets were known when theirs were removed. */
  readonly #parts: (readonly [part: ProgramPart, known: number])[] = [];
  /** Parts whose secrets are still being removed. */
  readonly #pending = new Set<ProgramPart>();
  #journal: Journal | undefined;
  #chars = 0;
  #isStopped = false;
  /** Why the golden is not whole. */
  #lack: string | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#head = { test_name: basename(path, '.json'), recorded_at: new Date().toISOString() };
  }

  /** Whether nothing more is recorded. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  keep(part: ProgramPart): void {
    if (this.#isStopped) return;
    const { scrubber } = this;
    scrubber.addEnvironment(process.env);
    const { size } = scrubber;
    // A part takes the place of an earlier one: it does not overtake that.
    if (this.#pending.size === 0 && JSON.stringify(part).length <= MAX_AT_ONCE) {
      this.attempt(() => this.#add(cleanedNow(part, scrubber), size));
      return;
    }
    this.#pending.add(part);
    const cleaned =
      'exchange' in part
        ? scrubber.cleanExchange(part.exchange).then((exchange) => ({ ...part, exchange }))
        : scrubber.cleanLarge(part);
    cleaned.then(
      (clean) => {
        // At the end of the process what was pending is cleaned at once.
        if (this.#pending.delete(part)) this.#add(clean, size);
      },
      (error: unknown) => {
        this.#pending.delete(part);
        this.stop(error);
      },
    );
  }

  /** The program asks a model or a server in a way of which nothing is recorded. */
  miss(what: string): void {
    say(what);
    this.#lack ??= what;
  }

  readonly attempt = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      this.stop(error);
    }
  };

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
      this.#chars += JSON.stringify(part).length;
      if (this.#chars > MAX_CHARS) throw new Error(TOO_LARGE);
      this.#journal ??= this.#begin();
      this.#journal.add(part);
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

function cleanedNow(part: ProgramPart, scrubber: Scrubber): ProgramPart {
  return 'exchange' in part
    ? { ...part, exchange: scrubber.cleanExchangeNow(part.exchange) }
    : scrubber.clean(part);
}
