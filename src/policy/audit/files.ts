/** The files of a writer: chains of records, and the head that counts them. */
import { createHash, createHmac } from 'node:crypto';
import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ObservatoryError } from '../../base/index.ts';
import { canonicalJson, FILE_LIMITS, isObject, type JsonObject, parseStrictJson } from '../../json/index.ts';

export const GENESIS = '0'.repeat(64);

export const RUN_FILE = /^run-([A-Za-z0-9_-]{1,128})\.jsonl$/;
export const CHAIN_FILE = /^chain-([a-f0-9]{16})\.jsonl$/;

/** The names of a writer's files. */
export const chainFile = (writer: string): string => `chain-${writer}.jsonl`;
export const headFile = (writer: string): string => `head-${writer}.json`;
export const runFile = (run: string): string => `run-${run}.jsonl`;

export interface Seal {
  /** Key of the HMACs; without it hashes are plain SHA-256. */
  readonly key: string | undefined;
  /** Whether a record is on the disk, and not only handed to the operating system, before its call is made. */
  readonly sync: boolean;
}

export function hashText(text: string, key: string | undefined): string {
  const hash = key === undefined ? createHash('sha256') : createHmac('sha256', key);
  return hash.update(text, 'utf8').digest('hex');
}

/** Turns what the file system throws into `AUDIT_UNAVAILABLE`. */
export function orUnavailable<T>(what: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    if (ObservatoryError.isInstance(cause)) throw cause;
    throw auditUnavailable(`Could not ${what}: ${(cause as Error).message}`, cause);
  }
}

export function auditUnavailable(message: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('AUDIT_UNAVAILABLE', message, cause === undefined ? undefined : { cause });
}

/** Writes all bytes at a place of a file: a nearly full disk takes only some of them at once. */
function writeWhole(fd: number, bytes: Buffer, position: number, sync: boolean): void {
  for (let done = 0; done < bytes.length; ) {
    const count = writeSync(fd, bytes, done, bytes.length - done, position + done);
    if (count === 0) throw new Error('nothing was written');
    done += count;
  }
  if (sync) fdatasyncSync(fd);
}

/** Creates a file that must not exist: an existing one belongs to another writer. */
function create(path: string, sync: boolean): number {
  const fd = openSync(path, 'wx', 0o600);
  if (!sync) return fd;
  const dir = openSync(dirname(path), 'r');
  try {
    fsyncSync(dir);
  } finally {
    closeSync(dir);
  }
  return fd;
}

export class ChainedFile {
  readonly #seal: Seal;
  #fd: number | undefined;
  #size = 0;
  #head = GENESIS;
  #records = 0;

  constructor(path: string, seal: Seal) {
    this.#fd = orUnavailable(`open '${path}'`, () => create(path, seal.sync));
    this.#seal = seal;
  }

  /** Hash of the last record. */
  get head(): string {
    return this.#head;
  }

  get records(): number {
    return this.#records;
  }

  /**
   * Writes one record, whole or not at all.
   * @param commit counts the record; when it throws, the record is taken back.
   * @throws ObservatoryError `AUDIT_UNAVAILABLE`
   */
  append(fields: JsonObject, commit: (head: string) => void): void {
    const fd = this.#fd;
    if (fd === undefined) throw auditUnavailable('Could not write an audit record: its run has ended');
    const text = canonicalText({ ...fields, seq: this.#records, prev: this.#head });
    const hash = hashText(text, this.#seal.key);
    // The line is the text that was hashed, with the hash as its last member.
    const line = Buffer.from(`${text.slice(0, -1)},"hash":"${hash}"}\n`);
    orUnavailable('write an audit record', () => {
      try {
        writeWhole(fd, line, this.#size, this.#seal.sync);
        commit(hash);
      } catch (cause) {
        this.#takeBack(fd);
        throw cause;
      }
    });
    this.#size += line.length;
    this.#head = hash;
    this.#records += 1;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** Cuts off a record that is there in part or does not count. A file that cannot be cut takes no more records. */
  #takeBack(fd: number): void {
    try {
      ftruncateSync(fd, this.#size);
    } catch {
      this.close();
    }
  }
}

export interface HeadState {
  /** Records in all files of the writer: its chain and its runs. */
  readonly records: number;
  readonly chain_records: number;
  /** Hash of the last record of the chain. */
  readonly chain_head: string;
}

/** Bytes of a head on disk. It is rewritten in place with every record, so its length must not change. */
const HEAD_BYTES = 384;

/**
 * The head of a writer: how many records there are, authenticated. It is overwritten, so who cuts files needs a copy of
 * the head as it was then, or the key.
 */
export class HeadFile {
  readonly #seal: Seal;
  readonly #writer: string;
  #fd: number | undefined;
  #state: HeadState = { records: 0, chain_records: 0, chain_head: GENESIS };

  constructor(dir: string, writer: string, seal: Seal) {
    const path = join(dir, headFile(writer));
    this.#fd = orUnavailable(`open '${path}'`, () => create(path, seal.sync));
    this.#seal = seal;
    this.#writer = writer;
  }

  /** Counts a record, of the chain if its hash is given. @throws what the file system throws */
  count(chainHead?: string): void {
    const { records, chain_records, chain_head } = this.#state;
    const next: HeadState =
      chainHead === undefined
        ? { records: records + 1, chain_records, chain_head }
        : { records: records + 1, chain_records: chain_records + 1, chain_head: chainHead };
    const fd = this.#fd;
    if (fd === undefined) throw auditUnavailable('Could not write an audit record: the log is closed');
    try {
      writeWhole(fd, this.#line(next), 0, this.#seal.sync);
    } catch (cause) {
      try {
        writeWhole(fd, this.#line(this.#state), 0, false);
      } catch {
        // The error that led here is the one to report.
      }
      throw cause;
    }
    this.#state = next;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #line(state: HeadState): Buffer {
    const text = sealed({ version: 1, writer: this.#writer, ...state }, this.#seal.key);
    return Buffer.from(`${text.padEnd(HEAD_BYTES - 1)}\n`);
  }
}

/** An object with the hash of its canonical JSON as its last member. The prefix keeps it apart from a record. */
export function sealed(fields: JsonObject, key: string | undefined): string {
  const text = canonicalJson(fields);
  return `${text.slice(0, -1)},"mac":"${hashText(`head:${text}`, key)}"}`;
}

/** The object of a file, if it is as it was sealed. A pipe, a device or a large file is not. @throws when it cannot be read */
export function readSealed(path: string, key: string | undefined): JsonObject | undefined {
  const about = statSync(path);
  if (!about.isFile() || about.size > FILE_LIMITS.maxBytes) return undefined;
  const text = readFileSync(path);
  try {
    const value = parseStrictJson(text, FILE_LIMITS);
    if (!isObject(value)) return undefined;
    const { mac, ...fields } = value;
    return mac === hashText(`head:${canonicalJson(fields)}`, key) ? fields : undefined;
  } catch {
    return undefined;
  }
}

function canonicalText(record: JsonObject): string {
  try {
    return canonicalJson(record);
  } catch {
    return canonicalJson(wellFormed(record));
  }
}

/** Replaces lone surrogates, which UTF-8 cannot hold, by U+FFFD: a record must never fail because of its text. */
function wellFormed(fields: JsonObject): JsonObject {
  const fix = (value: unknown): unknown => {
    if (typeof value === 'string') return (value as unknown as { toWellFormed(): string }).toWellFormed();
    if (Array.isArray(value)) return value.map(fix);
    if (typeof value === 'number' && !Number.isFinite(value)) return null;
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [fix(key), fix(member)]));
  };
  return fix(fields) as JsonObject;
}
