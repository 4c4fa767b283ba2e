/** What a run is known to hold: its prompts, the operator's text, approved values, and the results it was given. */
import type { Steps } from '../../base/index.ts';
import { readObject } from '../../json/index.ts';
import { readLeaves } from '../evidence/index.ts';
import { isFieldName } from './fields.ts';
import { type KnownResult, ResultIndex, type ResultOrigin } from './result-index.ts';
import { SourceText, type Wanted } from './source-text.ts';

export type Origin = { readonly kind: 'prompt' | 'operator' | 'approved' } | ResultOrigin;

/** Of one run: most results, and their bytes. The oldest go first. */
const MAX_RESULTS = 400;
const MAX_RUN_BYTES = 8 * 1_024 * 1_024;
/** Of all runs of a gate. */
const MAX_RUNS = 2_000;
const MAX_BYTES = 64 * 1_024 * 1_024;

export class RunMemory {
  readonly #told = { prompt: new SourceText(), operator: new SourceText(), approved: new SourceText() };
  readonly #results: KnownResult[] = [];
  readonly #index = new ResultIndex();
  /** Arguments without a source: a result that holds them later only repeats them. */
  readonly #said = new SourceText();
  #now = 0;
  #isCut: boolean;
  #bytes = 0;

  /** @param isCut something of the run was missed. */
  constructor(isCut: boolean) {
    this.#isCut = isCut;
  }

  /** Something was missed or has fallen out: what is not found may have been there. */
  get isCut(): boolean {
    return this.#isCut || this.#said.isCut || Object.values(this.#told).some(({ isCut }) => isCut);
  }

  get bytes(): number {
    const { prompt, operator, approved } = this.#told;
    return (
      this.#bytes + this.#index.bytes + prompt.bytes + operator.bytes + approved.bytes + this.#said.bytes
    );
  }

  /** The result of a call did not come by. */
  miss(): void {
    this.#isCut = true;
  }

  tell(kind: 'prompt' | 'operator' | 'approved', text: string): void {
    this.#told[kind].add(text);
  }

  /** An argument without a source goes out: from now on results repeat it. */
  say(text: string): void {
    this.#said.add(text, [], this.#now);
  }

  /** Indexes what was told and said, so that it is found. */
  *read(): Steps<void> {
    for (const text of [...Object.values(this.#told), this.#said]) yield* text.read();
  }

  *addResult(server: string, tool: string, result: unknown): Steps<void> {
    const text = new SourceText();
    for (const value of readResultValues(result)) {
      yield;
      const told = new Set<string>();
      for (const { text: said, path } of readLeaves(value).values) {
        yield* text.add(said, path).read();
        // A record by names, such as addresses: the names are values of the record.
        const [key, above] = [path.at(-1), path.slice(0, -1)];
        if (typeof key !== 'string' || isFieldName(key)) continue;
        const place = JSON.stringify([above, key]);
        if (!told.has(place)) yield* text.add(key, above).read();
        told.add(place);
      }
    }
    this.#now += 1;
    this.#results.push(this.#index.add(server, tool, this.#now, text));
    this.#bytes += text.bytes;
    if (text.isCut) this.#isCut = true;
    while (this.#results.length > MAX_RESULTS || this.#bytes > MAX_RUN_BYTES) {
      const oldest = this.#results.shift() as KnownResult;
      this.#index.drop(oldest);
      this.#bytes -= oldest.bytes;
      this.#isCut = true;
      yield;
    }
  }

  /** Where a value was found, in prompt, operator's text and approved values first. */
  find(wanted: Wanted): readonly Origin[] {
    const origins: Origin[] = [];
    for (const kind of ['prompt', 'operator', 'approved'] as const)
      if (this.#told[kind].find(wanted).length > 0) origins.push({ kind });
    const said = this.#said.find(wanted);
    // Of too many arguments that were said none is known to be missing.
    const until = said.reduce(
      (first, { at }) => Math.min(first, at),
      this.#said.isCut ? 0 : Number.POSITIVE_INFINITY,
    );
    return [...origins, ...this.#index.find(wanted, until)];
  }
}

/** The values that are read in a result: its structure, else each of its texts. */
function readResultValues(result: unknown): readonly unknown[] {
  const { structuredContent, content } = readObject(result);
  if (structuredContent !== undefined) {
    const { result: inner, ...rest } = readObject(structuredContent);
    // Servers wrap what is no object.
    return [inner !== undefined && Object.keys(rest).length === 0 ? inner : structuredContent];
  }
  const texts = (Array.isArray(content) ? content : []).flatMap((part: unknown) => {
    const { text, resource } = readObject(part);
    const shown = text ?? readObject(resource).text;
    return typeof shown === 'string' ? [shown] : [];
  });
  if (texts.length > 1) return [texts];
  if (texts.length === 1) return texts;
  return content === undefined ? [result] : [];
}

/** What a program tells of a run. */
export interface Told {
  readonly prompt?: string | undefined;
  readonly operator?: string | undefined;
}

/** A value of a call that goes out, and whether it came from where no outsider writes. */
export interface NotedValue {
  readonly value: string | number;
  readonly hasSource: boolean;
}

/** The memories of the runs of one gate. */
export class RunMemories {
  readonly #runs = new Map<string, { readonly memory: RunMemory; counted: number }>();
  #bytes = 0;
  /** Calls were made that no memory saw, or a memory was dropped. */
  #isCut = false;

  /** From now on what is not known of a run may have been there. */
  miss(): void {
    this.#isCut = true;
  }

  /** What is known of a run; nothing of a call that names neither run nor session. */
  open(run: string): RunMemory | undefined {
    if (run === '') return undefined;
    const known = this.#runs.get(run);
    if (known !== undefined) return known.memory;
    const memory = new RunMemory(this.#isCut);
    this.#runs.set(run, { memory, counted: 0 });
    return memory;
  }

  tell(run: string, { prompt, operator }: Told): void {
    const memory = this.open(run);
    if (prompt !== undefined) memory?.tell('prompt', prompt);
    if (operator !== undefined) memory?.tell('operator', operator);
    this.#settle(run);
  }

  /** Indexes what a run was told. */
  *read(run: string): Steps<void> {
    yield* this.#runs.get(run)?.memory.read() ?? [];
    this.#settle(run);
  }

  /** A call goes out. @param isApproved a person approved its arguments. */
  noteCall(run: string, traced: readonly NotedValue[], isApproved: boolean): void {
    const memory = this.open(run);
    for (const { value, hasSource } of traced) {
      if (isApproved) memory?.tell('approved', String(value));
      else if (!hasSource) memory?.say(String(value));
    }
    this.#settle(run);
  }

  /** @param result undefined if it did not come by. */
  *addResult(run: string, server: string, tool: string, result: unknown): Steps<void> {
    const memory = this.open(run);
    try {
      if (result === undefined) memory?.miss();
      else yield* memory?.addResult(server, tool, result) ?? [];
    } catch {
      // The call was made: its result is handed on, whether it can be read or not.
      memory?.miss();
    }
    this.#settle(run);
  }

  /** Counts what a memory has become, and drops the oldest ones where they are too large together. */
  #settle(run: string): void {
    const changed = this.#runs.get(run);
    if (changed === undefined) return;
    const { bytes } = changed.memory;
    this.#bytes += bytes - changed.counted;
    changed.counted = bytes;
    for (const [name, { counted }] of this.#runs) {
      if (this.#runs.size <= MAX_RUNS && this.#bytes <= MAX_BYTES) break;
      if (name === run) continue;
      this.#runs.delete(name);
      this.#bytes -= counted;
      this.#isCut = true;
    }
  }
}
