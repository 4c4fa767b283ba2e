/**
 * The audit trail: one file of JSON lines per run, each record chained to the one before by hash, and one chain file
 * per writer that lists the runs with their last hashes. A head per writer counts its records, and a list of writers
 * counts the writers. `verifyAudit` says where a record was changed, removed or reordered.
 *
 * A call is made only when the record that it starts is whole on disk. What happened then is recorded or kept until it
 * can be: the next call waits for that record. With a key the hashes are HMACs, which cannot be recomputed without it.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { diag } from '@opentelemetry/api';
import {
  checkOptions,
  kinds,
  makePrivateFolderSync,
  ObservatoryError,
  type OptionKinds,
  required,
  secret,
} from '../../base/index.ts';
import { redactValue } from '../../json/index.ts';
import { resolveCaptureContent } from '../../processor/index.ts';
import { ContentKeeper, type KeptContent, type RecordContent } from './content.ts';
import { plainFields } from './fields.ts';
import { ChainedFile, chainFile, HeadFile, orUnavailable, runFile, type Seal } from './files.ts';
import { enterWriters } from './writers.ts';

/** What happened, in the order of a run. */
export type AuditEvent =
  | 'run_started'
  | 'input_checked'
  | 'plan_checked'
  | 'gate_finding'
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
  /**
   * Wait until the disk has each record (`fdatasync`), so that records survive a power failure too. Otherwise the
   * operating system has them, so that they survive the process.
   * @defaultValue `SAFE_AUDIT_SYNC` is `1`
   */
  readonly sync?: boolean | undefined;
  /**
   * Keep what decisions were made about, so that `replayTrace` can repeat them: request, plan, arguments and result,
   * encrypted if there is a `key`, else without their secrets. The environment variable
   * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` takes precedence.
   * @defaultValue false
   */
  readonly captureContent?: boolean | undefined;
  readonly now?: (() => Date) | undefined;
}

const OPTIONS: OptionKinds<AuditOptions> = {
  dir: required(kinds.string),
  key: secret(kinds.string),
  sync: kinds.boolean,
  captureContent: kinds.boolean,
  now: kinds.function,
};

/** Writes the runs of one process. */
export class AuditLog {
  /** Where the files are. */
  readonly dir: string;
  readonly #seal: Seal;
  readonly #now: () => Date;
  readonly #chain: ChainedFile;
  readonly #head: HeadFile;
  readonly #keepsContent: boolean;

  /** @throws ObservatoryError `AUDIT_UNAVAILABLE` when the directory cannot be written. */
  constructor(options: AuditOptions) {
    checkOptions(options, OPTIONS, 'AuditLog');
    const { dir, key, sync = process.env.SAFE_AUDIT_SYNC === '1' } = options;
    this.dir = dir;
    this.#seal = { key, sync };
    this.#now = options.now ?? (() => new Date());
    this.#keepsContent = resolveCaptureContent(options.captureContent);
    orUnavailable(`make the directory '${dir}'`, () => makePrivateFolderSync(dir));
    const writer = randomBytes(8).toString('hex');
    this.#chain = new ChainedFile(join(dir, chainFile(writer)), this.#seal);
    this.#head = new HeadFile(dir, writer, this.#seal);
    try {
      enterWriters(dir, writer, this.#seal, (number, previous) => {
        this.#list({ event: 'writer_opened', writer, number, previous });
      });
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Opens a run. @throws ObservatoryError `AUDIT_UNAVAILABLE` */
  startRun(fields: AuditFields = {}): AuditRun {
    const id = `${this.#now()
      .toISOString()
      .replace(/[^0-9]/g, '')}-${randomBytes(6).toString('hex')}`;
    // Listed first: a process that dies in between leaves a run without records, and no file that nobody lists.
    this.#list({ event: 'run_opened', run_id: id });
    const file = new ChainedFile(join(this.dir, runFile(id)), this.#seal);
    const keeper = this.#keepsContent ? new ContentKeeper(id, this.#seal.key) : undefined;
    const run = new AuditRun(id, file, this.#now, keeper, {
      count: () => this.#head.count(),
      close: () => this.#list({ event: 'run_closed', run_id: id, head: file.head, records: file.records }),
    });
    try {
      run.record('run_started', fields);
    } catch (error) {
      file.close();
      throw error;
    }
    return run;
  }

  /** Adds to the chain of runs. */
  #list(fields: AuditFields): void {
    this.#chain.append({ time: this.#now().toISOString(), ...fields }, (hash) => this.#head.count(hash));
  }

  /** Closes the files. Runs that have not finished take no more records. */
  close(): void {
    this.#chain.close();
    this.#head.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

interface RunListing {
  count(): void;
  /** Lists the run as ended. */
  close(): void;
}

/** One run's records. */
export class AuditRun {
  readonly id: string;
  readonly #file: ChainedFile;
  readonly #now: () => Date;
  readonly #keeper: ContentKeeper | undefined;
  readonly #listing: RunListing;
  /** Records of what has happened that could not be written yet; at most one per call in flight. */
  readonly #owed: AuditFields[] = [];
  #problem: ObservatoryError | undefined;
  #isOpen = true;

  constructor(
    id: string,
    file: ChainedFile,
    now: () => Date,
    keeper: ContentKeeper | undefined,
    listing: RunListing,
  ) {
    this.id = id;
    this.#file = file;
    this.#now = now;
    this.#keeper = keeper;
    this.#listing = listing;
  }

  /** Hash of the last record, hex. */
  get head(): string {
    return this.#file.head;
  }

  /** Number of the next record. */
  get nextSeq(): number {
    return this.#file.records + this.#owed.length;
  }

  /**
   * The content of a record to come, where content is kept: for data of any size.
   * @param content made only where it is kept.
   */
  async keep(content: () => RecordContent): Promise<KeptContent | undefined> {
    return await this.#keeper?.keepLarge(content());
  }

  /** As {@link keep}, at once, for data of the size of arguments. */
  keepNow(content: () => RecordContent): KeptContent | undefined {
    return this.#keeper?.keep(content());
  }

  /** Why something that happened is not on record; undefined when everything is. */
  get problem(): ObservatoryError | undefined {
    return this.#problem;
  }

  /**
   * Appends a record of what is about to happen.
   * @throws ObservatoryError `AUDIT_UNAVAILABLE` when it, or one before it, cannot be written: then it must not happen.
   */
  record(event: AuditEvent, fields: AuditFields = {}, content?: KeptContent): void {
    this.#writeOwed();
    this.#append(this.#stamped(event, fields, content));
  }

  /**
   * Appends a record of what has happened. Does not throw: a record that cannot be written is kept, and written before
   * the next one; until then {@link problem} says why.
   */
  settle(event: AuditEvent, fields: AuditFields = {}, content?: KeptContent): void {
    this.#owed.push(this.#stamped(event, fields, content));
    try {
      this.#writeOwed();
    } catch (cause) {
      this.#fail(cause as ObservatoryError, event);
    }
  }

  /**
   * Ends the run and enters its head into the chain of runs.
   * @throws ObservatoryError `AUDIT_UNAVAILABLE` when that cannot be written: the run then counts as not ended.
   */
  finish(fields: AuditFields = {}): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    try {
      this.record('run_finished', fields);
      this.#listing.close();
    } catch (cause) {
      this.#fail(cause as ObservatoryError, 'run_finished');
      throw cause;
    } finally {
      this.#file.close();
    }
  }

  #stamped(event: AuditEvent, fields: AuditFields, content?: KeptContent): AuditFields {
    const time = this.#now().toISOString();
    return { ...redactValue(plainFields(fields)), ...content, version: 1, run_id: this.id, time, event };
  }

  #writeOwed(): void {
    for (let owed = this.#owed[0]; owed !== undefined; owed = this.#owed[0]) {
      this.#append(owed);
      this.#owed.shift();
    }
    this.#problem = undefined;
  }

  #append(record: AuditFields): void {
    this.#file.append(record, () => this.#listing.count());
  }

  #fail(problem: ObservatoryError, event: AuditEvent): void {
    this.#problem = problem;
    diag.error(`mcp-observatory: ${event} of the run ${this.id} is not on record: ${problem.message}`);
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
 * Runs `act` as one run of a log and finishes it with what `ending` says of the result, or with the error thrown. A run
 * whose end cannot be recorded has happened all the same: its result is returned, or its error thrown.
 *
 * @param incomplete adds to the result why the run is not wholly on record.
 * @throws what `act` throws, and ObservatoryError `AUDIT_UNAVAILABLE` when the run cannot be started.
 */
export async function auditRun<T>(
  log: AuditLog | undefined,
  started: AuditFields,
  act: (run: AuditRun | undefined) => Promise<T>,
  ending: (result: T) => AuditFields,
  incomplete: (result: T, problem: ObservatoryError) => T,
): Promise<T> {
  const run = log?.startRun(started);
  let result: T;
  try {
    result = await act(run);
  } catch (error) {
    const error_type = error instanceof Error ? error.name : 'unknown';
    const error_code = ObservatoryError.isInstance(error) ? error.code : undefined;
    finishQuietly(run, { result: 'error', error_type, error_code });
    throw error;
  }
  const problem = finishQuietly(run, ending(result));
  return problem === undefined ? result : incomplete(result, problem);
}

/** Finishes a run. @returns why it is not wholly on record, which is logged */
function finishQuietly(run: AuditRun | undefined, fields: AuditFields): ObservatoryError | undefined {
  try {
    run?.finish(fields);
  } catch {
    // `problem` has it.
  }
  return run?.problem;
}
