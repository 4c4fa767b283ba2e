/**
 * A recording under way: lines of JSON, the first of which says so. What was written is readable whenever the program
 * is killed; at its end the golden takes the file's place.
 */
import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isProcessAlive, writePrivateFileSync } from '../../base/index.ts';
import { isObject } from '../../json/index.ts';
import { goldenOfProgram, type ProgramHead, type ProgramPart } from './assemble.ts';
import { sealGolden } from './checksum.ts';
import type { Golden } from './format.ts';
import { formatGolden } from './write.ts';

const MARK = '{"golden_journal":1,';

/** Writes a recording under way. */
export class Journal {
  readonly #path: string;
  readonly #head: ProgramHead;
  readonly #file: number;

  /** @throws the file system's error; an error if another file than a golden is there, or another process records to it. */
  constructor(path: string, head: ProgramHead) {
    refuseOther(path);
    this.#path = path;
    this.#head = head;
    writePrivateFileSync(path, `${MARK}${JSON.stringify({ pid: process.pid, head }).slice(1)}\n`);
    this.#file = openSync(path, 'a');
  }

  add(part: ProgramPart): void {
    writeSync(this.#file, `${JSON.stringify(part)}\n`);
  }

  /** Puts the golden in the place of the journal. @param isWhole false if parts are missing */
  finish(parts: readonly ProgramPart[], isWhole: boolean): void {
    closeSync(this.#file);
    writePrivateFileSync(this.#path, formatGolden(sealGolden(goldenOfProgram(this.#head, parts, isWhole))));
  }
}

/** A recording takes the place of a golden, an earlier recording or an empty file, and of nothing else. */
function refuseOther(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return;
  const text = readFileSync(path, 'utf8');
  const start = text.trimStart();
  if (start === '' || /^\{\s*"format_version":/.test(start)) return;
  if (!start.startsWith(MARK)) throw new Error(`${path} is no golden, and is not replaced`);
  const owner = parsed(start.split('\n', 1)[0] ?? '');
  if (isObject(owner) && typeof owner.pid === 'number' && owner.pid !== process.pid && isRunning(owner.pid))
    throw new Error(`Process ${owner.pid} is recording to it`);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The other process that is recording to a file. */
export async function findRecorder(path: string): Promise<number | undefined> {
  try {
    const [line = ''] = (await readFile(path, 'utf8')).split('\n', 1);
    const pid = line.startsWith(MARK) ? (JSON.parse(line) as { pid?: unknown }).pid : undefined;
    return typeof pid === 'number' && (await isProcessAlive(pid, undefined)) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** The golden of what a journal holds; undefined for a text that is no journal. An unfinished last line is left out. */
export function readJournal(text: string): Golden | undefined {
  if (!text.startsWith(MARK)) return undefined;
  const lines = text.split('\n');
  lines.pop();
  const [first, ...parts] = lines.map(parsed).filter(isObject);
  if (!isObject(first?.head)) return undefined;
  return sealGolden(
    goldenOfProgram(first.head as unknown as ProgramHead, parts as unknown as ProgramPart[], false),
  );
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
