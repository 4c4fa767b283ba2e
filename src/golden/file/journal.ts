/**
 * A recording under way: lines of JSON, the first of which says so. What was written is readable whenever the program
 * is killed; at its end the golden takes the file's place.
 */
import { appendFileSync, closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { isPidInUse, writePrivateFileSync } from '../../base/index.ts';
import { isObject, parseOrKeep } from '../../json/index.ts';
import { goldenOfProgram, type ProgramHead, type ProgramPart } from './assemble.ts';
import { sealGolden } from './checksum.ts';
import type { Golden } from './format.ts';
import { formatGolden } from './write.ts';

const ENDED = 'the program was ended before it was done';
const MARK = '{"golden_journal":1,';
const JOURNAL = /^\{"golden_journal":1,"pid":(\d{1,10}),/;

/** Writes a recording under way. */
export class Journal {
  readonly path: string;
  readonly #head: ProgramHead;
  readonly #file: number;

  /**
   * @param path where to write; if another process records to it, or has since this one started, as a forked one does, a
   * file of this process beside it.
   * @throws the file system's error; an error if another file than a golden is there.
   */
  constructor(path: string, head: ProgramHead) {
    this.path = isTaken(path) ? `${path.replace(/\.json$/, '')}.${process.pid}.json` : path;
    if (this.path !== path && isTaken(this.path)) throw new Error(`${this.path} is taken`);
    this.#head = head;
    writePrivateFileSync(this.path, `${MARK}${JSON.stringify({ pid: process.pid, head }).slice(1)}\n`);
    this.#file = openSync(this.path, 'a');
  }

  /** @param part as JSON. */
  add(part: string): void {
    appendFileSync(this.#file, `${part}\n`);
  }

  /** Puts the golden in the place of the journal. @param lack as of {@link goldenOfProgram} */
  finish(parts: readonly ProgramPart[], lack: string | undefined): void {
    const { ino } = fstatSync(this.#file);
    closeSync(this.#file);
    if (statSync(this.path, { throwIfNoEntry: false })?.ino !== ino)
      throw new Error('another file was put in its place');
    writePrivateFileSync(this.path, formatGolden(sealGolden(goldenOfProgram(this.#head, parts, lack))));
  }
}

/**
 * Whether another process records to a file. A recording takes the place of an earlier golden, an earlier recording or an
 * empty file.
 * @throws an error for any other file.
 */
function isTaken(path: string): boolean {
  const about = statSync(path, { throwIfNoEntry: false });
  // To open one without a reader would hold the program for ever.
  if (about?.isFIFO() === true) throw new Error(`${path} is a pipe, and is not written`);
  if (about?.isFile() !== true) return false;
  const start = readStart(path).trimStart();
  const [isJournal, owner] = JOURNAL.exec(start) ?? [];
  if (start !== '' && isJournal === undefined && !/^\{\s*"format_version":/.test(start))
    throw new Error(`${path} is no golden, and is not replaced`);
  if (about.mtimeMs > performance.timeOrigin) return true;
  return owner !== undefined && Number(owner) !== process.pid && isPidInUse(Number(owner));
}

function readStart(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(1024);
    return bytes.toString('utf8', 0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

/** The golden of what a journal holds; undefined for a text that is no journal. An unfinished last line is left out. */
export function readJournal(text: string): Golden | undefined {
  if (!text.startsWith(MARK)) return undefined;
  const lines = text.split('\n');
  lines.pop();
  const [first, ...parts] = lines.map(parseOrKeep).filter(isObject);
  if (!isObject(first?.head)) return undefined;
  return sealGolden(
    goldenOfProgram(first.head as unknown as ProgramHead, parts as unknown as ProgramPart[], ENDED),
  );
}
