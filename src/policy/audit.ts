/**
 * The audit trail: one file of JSON lines per run, each record chained to the one before by hash, and one chain file
 * per writer that lists the runs with their last hashes. Changing, removing or reordering a record breaks a chain;
 * `verifyAudit` (audit-verify.ts) says where.
 *
 * Records are written before a call is made and again with its outcome, synchronously: a call whose record cannot be
 * written is not made. With a key the hashes are HMACs, which cannot be recomputed without it; without one, anchor
 * the heads elsewhere (the gate puts them on its spans as `observatory.audit_head`).
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { ObservatoryError } from '../base/index.ts';
import { canonicalJson } from '../json/index.ts';

/** What happened, in the order of a run. */
export type AuditEvent =
  | 'run_started'
  | 'input_checked'
  | 'plan_checked'
  | 'call_decided'
  | 'call_started'
  | 'call_finished'
  | 'summary_checked'
  | 'run_finished';

/** Fields of a record beside the chain's own; snake_case, JSON values, no secrets. */
export type AuditFields = Readonly<Record<string, unknown>>;

export interface AuditOptions {
  /** Folder of the files; created when missing. */
  readonly dir: string;
  /** Key of the HMACs, UTF-8 (`SAFE_AUDIT_KEY`). Without it hashes are plain SHA-256. */
  readonly key?: string | undefined;
  readonly now?: (() => Date) | undefined;
}

export const GENESIS = '0'.repeat(64);

/** Files of a trace directory. */
export const RUN_FILE = /^run-([A-Za-z0-9_-]{1,128})\.jsonl$/;
export const CHAIN_FILE = /^chain-([a-f0-9]{16})\.jsonl$/;

/** Hash of a record's canonical JSON, hex. */
export function chainHash(record: AuditFields, key: string | undefined): string {
  return hashText(canonicalJson(record), key);
}

function hashText(text: string, key: string | undefined): string {
  const hash = key === undefined ? createHash('sha256') : createHmac('sha256', key);
  return hash.update(text, 'utf8').digest('hex');
}

/** A file of chained records. */
class ChainedFile {
  readonly #fd: number;
  readonly #key: string | undefined;
  #isOpen = true;
  head = GENESIS;
  records = 0;

  constructor(path: string, key: string | undefined) {
    // `wx`: an existing file belongs to another writer.
    this.#fd = guard(`open '${path}'`, () => openSync(path, 'wx', 0o600));
    this.#key = key;
  }

  append(fields: AuditFields): string {
    const text = canonicalText({ ...fields, seq: this.records, prev: this.head });
    const hash = hashText(text, this.#key);
    // The line is the text that was hashed, with the hash as its last member.
    guard('write an audit record', () => writeSync(this.#fd, `${text.slice(0, -1)},"hash":"${hash}"}\n`));
    this.head = hash;
    this.records += 1;
    return hash;
  }

  close(): void {
    if (this.#isOpen) closeSync(this.#fd);
    this.#isOpen = false;
  }
}

/** Writes the runs of one process. */
export class AuditLog {
  readonly #dir: string;
  readonly #key: string | undefined;
  readonly #now: () => Date;
  readonly #chain: ChainedFile;
  readonly #writer = randomBytes(8).toString('hex');

  /** @throws ObservatoryError `AUDIT_UNAVAILABLE` when the directory cannot be written. */
  constructor(options: AuditOptions) {
    this.#dir = options.dir;
    this.#key = options.key;
    this.#now = options.now ?? (() => new Date());
    guard(`make the directory '${options.dir}'`, () =>
      mkdirSync(options.dir, { recursive: true, mode: 0o700 }),
    );
    this.#chain = new ChainedFile(join(this.#dir, `chain-${this.#writer}.jsonl`), this.#key);
  }

  /** Where the files are. */
  get dir(): string {
    return this.#dir;
  }

  /** Opens a run. @throws ObservatoryError `AUDIT_UNAVAILABLE` */
  startRun(fields: AuditFields = {}): AuditRun {
    const id = `${this.#now()
      .toISOString()
      .replace(/[^0-9]/g, '')}-${randomBytes(6).toString('hex')}`;
    const file = new ChainedFile(join(this.#dir, `run-${id}.jsonl`), this.#key);
    this.#list({ event: 'run_opened', run_id: id });
    const run = new AuditRun(id, file, this.#now, () => {
      this.#list({ event: 'run_closed', run_id: id, head: file.head, records: file.records });
    });
    run.record('run_started', fields);
    return run;
  }

  /** Adds to the chain of runs and writes its head beside it, so that a truncated chain is noticed. */
  #list(fields: AuditFields): void {
    this.#chain.append({ time: this.#now().toISOString(), ...fields });
    const path = join(this.#dir, `head-${this.#writer}.json`);
    guard(`write '${path}'`, () => {
      const head = { writer: this.#writer, records: this.#chain.records, head: this.#chain.head };
      writeFileSync(`${path}.tmp`, `${JSON.stringify(head)}\n`, { mode: 0o600 });
      renameSync(`${path}.tmp`, path);
    });
  }

  close(): void {
    this.#chain.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** One run's records. */
export class AuditRun {
  readonly id: string;
  readonly #file: ChainedFile;
  readonly #now: () => Date;
  readonly #onClose: () => void;
  #isOpen = true;

  constructor(id: string, file: ChainedFile, now: () => Date, onClose: () => void) {
    this.id = id;
    this.#file = file;
    this.#now = now;
    this.#onClose = onClose;
  }

  /** Hash of the last record, hex. */
  get head(): string {
    return this.#file.head;
  }

  /** Appends a record. @throws ObservatoryError `AUDIT_UNAVAILABLE` */
  record(event: AuditEvent, fields: AuditFields = {}): void {
    this.#file.append({ ...fields, version: 1, run_id: this.id, time: this.#now().toISOString(), event });
  }

  /** Ends the run and enters its head into the chain of runs. */
  finish(fields: AuditFields = {}): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    try {
      this.record('run_finished', fields);
    } finally {
      this.#file.close();
      this.#onClose();
    }
  }
}

/** Where runs are recorded: a log, the folder of one, or false for nowhere. */
export type AuditOption = AuditLog | string | false;

/**
 * Opens the log that an option names; a log that was given stays its owner's to close.
 * @param option @defaultValue the folder `SAFE_TRACE_DIR`, else `.mcp-observatory/traces`
 * @throws ObservatoryError `AUDIT_UNAVAILABLE` when the folder cannot be written.
 */
export function openAudit(option: AuditOption | undefined): { readonly log?: AuditLog; close(): void } {
  if (option === false) return { close: () => {} };
  if (option instanceof AuditLog) return { log: option, close: () => {} };
  const dir = option ?? process.env.SAFE_TRACE_DIR ?? '.mcp-observatory/traces';
  const log = new AuditLog({ dir, key: process.env.SAFE_AUDIT_KEY });
  return { log, close: () => log.close() };
}

/**
 * Runs `act` as one run of a log and finishes it with what `ending` says of the result, or with the error thrown.
 * @throws what `act` throws, and ObservatoryError `AUDIT_UNAVAILABLE`.
 */
export async function auditRun<T>(
  log: AuditLog | undefined,
  started: AuditFields,
  act: (run: AuditRun | undefined) => Promise<T>,
  ending: (result: T) => AuditFields,
): Promise<T> {
  const run = log?.startRun(started);
  let result: T;
  try {
    result = await act(run);
  } catch (error) {
    const error_type = error instanceof Error ? error.name : 'unknown';
    const error_code = ObservatoryError.isInstance(error) ? error.code : undefined;
    run?.finish({ result: 'error', error_type, error_code });
    throw error;
  }
  run?.finish(ending(result));
  return result;
}

function canonicalText(record: AuditFields): string {
  try {
    return canonicalJson(record);
  } catch {
    return canonicalJson(wellFormed(record));
  }
}

/** Replaces lone surrogates, which UTF-8 cannot hold, by U+FFFD: a record must never fail because of its text. */
function wellFormed(fields: AuditFields): AuditFields {
  const fix = (value: unknown): unknown => {
    if (typeof value === 'string') return (value as unknown as { toWellFormed(): string }).toWellFormed();
    if (Array.isArray(value)) return value.map(fix);
    if (typeof value === 'number' && !Number.isFinite(value)) return null;
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [fix(key), fix(member)]));
  };
  return fix(fields) as AuditFields;
}

function guard<T>(what: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw new ObservatoryError('AUDIT_UNAVAILABLE', `Could not ${what}: ${(cause as Error).message}`, {
      cause,
    });
  }
}
