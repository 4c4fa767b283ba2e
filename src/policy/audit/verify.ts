/** Checks a trace directory: every record in its place, unchanged, and none missing at the end. */

import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage, ObservatoryError, readLines } from '../../base/index.ts';
import { canonicalJson, type JsonObject } from '../../json/index.ts';
import { type AuditHead, type FileEnd, parseObject } from './audit-head.ts';
import {
  CHAIN_FILE,
  chainFile,
  GENESIS,
  type HeadState,
  hashText,
  headFile,
  RUN_FILE,
  readSealed,
  runFile,
} from './files.ts';
import { readWriters, type WritersState, writersHash } from './writers.ts';

/** Something wrong with a file, and at which line (1-based) where that is known. */
export interface AuditProblem {
  readonly file: string;
  readonly line: number | undefined;
  readonly problem: string;
}

export interface AuditReport {
  readonly runs: number;
  readonly records: number;
  /** Runs that were opened and not closed: still going, or their process died. */
  readonly unfinished: readonly string[];
  readonly problems: readonly AuditProblem[];
  readonly head: AuditHead;
}

/**
 * Verifies every chain of a directory.
 * @param key the key the records were written with, where one was.
 * @param expect heads kept elsewhere, which the trail must contain: of an earlier report, or the hash of any one record.
 * @throws ObservatoryError `INVALID_INPUT` when the directory cannot be read or holds no chain.
 */
export async function verifyAudit(
  dir: string,
  key?: string,
  expect: readonly (AuditHead | string)[] = [],
): Promise<AuditReport> {
  return await new Verification(dir, key, expect).run();
}

interface Chain {
  readonly writer: string;
  /** Place in the list of writers, and the hash of the list before it. */
  readonly opened: { readonly number: number; readonly previous: string } | undefined;
  readonly runs: number;
}

class Verification {
  readonly #dir: string;
  readonly #key: string | undefined;
  readonly #expect: readonly (AuditHead | string)[];
  readonly #problems: AuditProblem[] = [];
  readonly #unfinished: string[] = [];
  readonly #listed = new Set<string>();
  readonly #ends: FileEnd[] = [];
  /** Places that must have a certain hash, by file. */
  readonly #marks = new Map<string, FileEnd[]>();
  /** Hashes that must occur, not found so far. */
  readonly #wanted: Set<string>;
  #runs = 0;
  #records = 0;

  constructor(dir: string, key: string | undefined, expect: readonly (AuditHead | string)[]) {
    this.#dir = dir;
    this.#key = key;
    this.#expect = expect;
    this.#wanted = new Set(expect.filter((each) => typeof each === 'string'));
    for (const each of expect) {
      if (typeof each !== 'string') for (const end of each.files) this.#mark(end);
    }
  }

  async run(): Promise<AuditReport> {
    // In the opposite order of writing, so that records added meanwhile are not taken for missing ones.
    const writers = this.#readWriters();
    const names = this.#listNames();
    const chains = names.filter((name) => CHAIN_FILE.test(name));
    if (chains.length === 0 && writers === undefined) {
      throw new ObservatoryError('INVALID_INPUT', `'${this.#dir}' holds no audit chain (chain-*.jsonl)`);
    }
    const checked: Chain[] = [];
    for (const name of chains) checked.push(await this.#checkChain(CHAIN_FILE.exec(name)?.[1] ?? ''));
    this.#checkWriters(writers, checked);
    for (const name of names) {
      if (RUN_FILE.test(name) && !this.#listed.has(name)) this.#report(name, 'no chain lists this run');
    }
    this.#checkExpected(writers);
    return {
      runs: this.#runs,
      records: this.#records,
      unfinished: this.#unfinished,
      problems: this.#problems,
      head: { writers: writers?.writers ?? 0, files: this.#ends },
    };
  }

  async #checkChain(writer: string): Promise<Chain> {
    const file = chainFile(writer);
    const head = this.#readHead(writer);
    if (head !== undefined) this.#mark({ file, records: head.chain_records, head: head.chain_head });
    let opened: Chain['opened'];
    const runs = new Map<string, JsonObject | undefined>();
    const end = await this.#walk(file, (record) => {
      const run = String(record.run_id);
      if (record.event === 'writer_opened') opened = record as never;
      else if (record.event === 'run_opened') runs.set(run, undefined);
      else if (record.event === 'run_closed') runs.set(run, record);
    });
    // Read again: the process may have started meanwhile.
    if (head === undefined && runs.size > 0 && this.#readHead(writer) === undefined) {
      this.#report(headFile(writer), 'the head is missing, was changed, or was written with another key');
    }
    this.#ends.push(end);
    let total = end.records;
    let isCounted = head !== undefined;
    for (const [run, closing] of runs) {
      const before = this.#problems.length;
      const count = await this.#checkRun(run, closing);
      total += closing === undefined ? count : Number(closing.records);
      if (closing === undefined && this.#problems.length > before) isCounted = false;
    }
    if (isCounted) this.#checkTotal(writer, head?.records ?? 0, total);
    return { writer, opened, runs: runs.size };
  }

  /** @returns the count of its records */
  async #checkRun(run: string, closing: JsonObject | undefined): Promise<number> {
    const file = runFile(run);
    this.#listed.add(file);
    this.#runs += 1;
    if (closing === undefined) this.#unfinished.push(run);
    if (!RUN_FILE.test(file)) {
      this.#report('chain', `a run has an invalid id: ${JSON.stringify(run.slice(0, 80))}`);
      return 0;
    }
    if (!existsSync(join(this.#dir, file))) {
      // An open run may have died before its first record: the count of the writer's records tells.
      if (closing !== undefined) this.#report(file, 'the run is listed and its file is gone');
      return 0;
    }
    const end = await this.#walk(file, (record, line) => {
      if (record.run_id !== run) this.#report(file, 'the record belongs to another run', line);
    });
    this.#records += end.records;
    if (closing === undefined) this.#ends.push(end);
    else if (closing.head !== end.head || closing.records !== end.records) {
      this.#report(file, `the run ended with ${String(closing.records)} records and another last hash`);
    }
    return end.records;
  }

  /** Compares the records of a writer with the count in its head. */
  #checkTotal(writer: string, counted: number, found: number): void {
    const missing = counted - found;
    if (missing > 0) {
      const problem = `${missing} of the writer's ${counted} records are missing at the end of its runs that did not end`;
      this.#report(chainFile(writer), problem);
    }
    // A process that dies may leave one record that is not counted. More are written while this runs, or the head is old.
    if (missing < -1 && (this.#readHead(writer)?.records ?? 0) < found - 1)
      this.#report(headFile(writer), 'the head is older than the records: it was put back');
  }

  /** Follows the list of writers from its end back to the first. */
  #checkWriters(state: WritersState | undefined, chains: readonly Chain[]): void {
    if (state === undefined) {
      this.#report('writers', 'the list of writers is missing, was changed, or has another key');
      return;
    }
    const byHash = new Map<string, Chain>();
    for (const chain of chains) {
      if (chain.opened !== undefined)
        byHash.set(writersHash(chain.opened.previous, chain.writer, this.#key), chain);
    }
    const entered = new Set<Chain>();
    let next: string | undefined = state.head;
    for (let number = state.writers; number > 0; number -= 1) {
      // After a gap the list goes on with the writer of that number.
      const chain: Chain | undefined =
        next === undefined
          ? chains.find((one) => one.opened?.number === number && !entered.has(one))
          : byHash.get(next);
      if (chain?.opened?.number !== number) {
        this.#report('writers', `writer ${number} of ${state.writers} is missing: its files were removed`);
        next = undefined;
        continue;
      }
      entered.add(chain);
      next = chain.opened.previous;
    }
    for (const chain of chains) {
      const number = chain.opened?.number ?? 0;
      // A process that died as it started has listed no run; one that started meanwhile is in the list by now.
      const isNew = number > state.writers && number <= (this.#readWriters()?.writers ?? 0);
      if (!entered.has(chain) && chain.runs > 0 && !isNew)
        this.#report(chainFile(chain.writer), 'the list of writers does not have this one');
    }
  }

  #checkExpected(writers: WritersState | undefined): void {
    for (const each of this.#expect) {
      if (typeof each === 'string') continue;
      if (each.writers > (writers?.writers ?? 0))
        this.#report('writers', `there were ${each.writers} writers when the expected head was taken`);
      for (const { file } of each.files) {
        if (!existsSync(join(this.#dir, file)))
          this.#report(file.slice(0, 160), 'the expected head has this file, and it is gone');
      }
    }
    for (const hash of this.#wanted)
      this.#report('expected', `no record has the hash ${hash.slice(0, 64)}: it was removed`);
  }

  /** Walks one chained file; stops at the first broken link, after which nothing can be verified. */
  async #walk(file: string, take: (record: JsonObject, line: number) => void): Promise<FileEnd> {
    const marks = this.#marks.get(file) ?? [];
    let head = GENESIS;
    let line = 0;
    const path = join(this.#dir, file);
    // A pipe or a device has no end.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
      this.#report(file, 'this is not a file');
      return { file, records: 0, head: '' };
    }
    const input = createReadStream(path);
    try {
      for await (const text of readLines(input)) {
        line += 1;
        const record = typeof text === 'string' ? parseObject(text) : undefined;
        const problem =
          record === undefined ? 'the line is not a record' : this.#linkProblem(record, line, head);
        if (record === undefined || problem !== undefined) {
          this.#report(file, problem ?? '', line);
          return { file, records: line, head: '' };
        }
        head = String(record.hash);
        this.#wanted.delete(head);
        for (const mark of marks) {
          if (mark.records === line && mark.head !== head)
            this.#report(file, 'the record is another one than its head says', line);
        }
        take(record, line);
      }
    } catch (error) {
      this.#report(file, `the file cannot be read: ${errorMessage(error)}`);
      return { file, records: line, head: '' };
    } finally {
      input.destroy();
    }
    for (const mark of marks) {
      if (mark.records > line)
        this.#report(file, `${mark.records - line} of ${mark.records} records are missing at its end`);
    }
    return { file, records: line, head };
  }

  #linkProblem(record: JsonObject, line: number, head: string): string | undefined {
    const { hash, ...rest } = record;
    if (hashText(canonicalJson(rest), this.#key) !== hash)
      return 'the record was changed, or written with another key';
    if (rest.seq !== line - 1)
      return `record ${String(rest.seq)} is in place ${line - 1}: one was removed or moved`;
    return rest.prev === head ? undefined : 'the record does not follow the one before it';
  }

  /** Undefined when it is missing or not authentic. Read again then: it may have been read while it was written. */
  #readHead(writer: string, tries = 3): HeadState | undefined {
    try {
      const head = readSealed(join(this.#dir, headFile(writer)), this.#key);
      if (head?.writer === writer) return head as unknown as HeadState;
    } catch {
      return undefined;
    }
    return tries > 1 ? this.#readHead(writer, tries - 1) : undefined;
  }

  #readWriters(): WritersState | undefined {
    try {
      const state = readWriters(this.#dir, this.#key);
      return state === 'invalid' ? undefined : state;
    } catch {
      return undefined;
    }
  }

  #listNames(): readonly string[] {
    try {
      return readdirSync(this.#dir).sort();
    } catch (cause) {
      throw new ObservatoryError('INVALID_INPUT', `The trace directory '${this.#dir}' cannot be read`, {
        cause,
      });
    }
  }

  #mark(end: FileEnd): void {
    this.#marks.set(end.file, [...(this.#marks.get(end.file) ?? []), end]);
  }

  #report(file: string, problem: string, line?: number): void {
    this.#problems.push({ file, line, problem });
  }
}
