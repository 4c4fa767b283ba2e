/** Checks a trace directory: every record in its place, unchanged. */

import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ObservatoryError } from '../base/index.ts';
import { FILE_LIMITS, isObject, parseStrictJson } from '../json/index.ts';
import { CHAIN_FILE, chainHash, GENESIS, RUN_FILE } from './audit.ts';

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
}

interface ChainEnd {
  readonly head: string;
  readonly records: number;
}

/**
 * Verifies every chain of a directory.
 * @param key the key the records were written with, where one was.
 * @throws ObservatoryError `INVALID_INPUT` when the directory cannot be read or holds no chain.
 */
export async function verifyAudit(dir: string, key?: string): Promise<AuditReport> {
  const problems: AuditProblem[] = [];
  const unfinished: string[] = [];
  const listed = new Set<string>();
  let runs = 0;
  let records = 0;
  const names = listNames(dir);
  const chains = names.filter((name) => CHAIN_FILE.test(name));
  if (chains.length === 0) {
    throw new ObservatoryError('INVALID_INPUT', `'${dir}' holds no audit chain (chain-*.jsonl)`);
  }
  for (const name of names) {
    const writer = /^head-([a-f0-9]{16})\.json$/.exec(name)?.[1];
    if (writer !== undefined && !chains.includes(`chain-${writer}.jsonl`)) {
      problems.push({
        file: `chain-${writer}.jsonl`,
        line: undefined,
        problem: 'the chain of runs was removed',
      });
    }
  }
  for (const chain of chains) {
    const opened = new Map<string, Readonly<Record<string, unknown>> | undefined>();
    const end = await walk(dir, chain, key, problems, (record) => {
      const run = String(record.run_id);
      if (record.event === 'run_opened') opened.set(run, undefined);
      else if (record.event === 'run_closed') opened.set(run, record);
    });
    checkHead(dir, chain, end, problems);
    for (const [run, closing] of opened) {
      const file = `run-${run}.jsonl`;
      listed.add(file);
      runs += 1;
      if (!names.includes(file)) {
        problems.push({ file, line: undefined, problem: 'the run is listed and its file is gone' });
        continue;
      }
      const runEnd = await walk(dir, file, key, problems, (record, line) => {
        if (record.run_id !== run)
          problems.push({ file, line, problem: 'the record belongs to another run' });
      });
      records += runEnd.records;
      if (closing === undefined) unfinished.push(run);
      else if (closing.head !== runEnd.head || closing.records !== runEnd.records) {
        problems.push({
          file,
          line: undefined,
          problem: `the run ended with ${String(closing.records)} records and another last hash`,
        });
      }
    }
  }
  for (const name of names) {
    if (RUN_FILE.test(name) && !listed.has(name)) {
      problems.push({ file: name, line: undefined, problem: 'no chain lists this run' });
    }
  }
  return { runs, records, unfinished, problems };
}

function listNames(dir: string): readonly string[] {
  try {
    return readdirSync(dir).sort();
  } catch (cause) {
    throw new ObservatoryError('INVALID_INPUT', `The trace directory '${dir}' cannot be read`, { cause });
  }
}

/** Walks one chained file; stops at the first broken link, after which nothing can be verified. */
async function walk(
  dir: string,
  file: string,
  key: string | undefined,
  problems: AuditProblem[],
  take: (record: Readonly<Record<string, unknown>>, line: number) => void,
): Promise<ChainEnd> {
  let head = GENESIS;
  let line = 0;
  const input = createReadStream(join(dir, file));
  try {
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      line += 1;
      const record = parseRecord(text);
      const problem =
        record === undefined ? 'the line is not a record' : linkProblem(record, line, head, key);
      if (record === undefined || problem !== undefined) {
        problems.push({ file, line, problem: problem ?? 'the line is not a record' });
        return { head: '', records: line };
      }
      head = String(record.hash);
      take(record, line);
    }
  } finally {
    input.destroy();
  }
  return { head, records: line };
}

function parseRecord(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseStrictJson(text, FILE_LIMITS);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function linkProblem(
  record: Readonly<Record<string, unknown>>,
  line: number,
  head: string,
  key: string | undefined,
): string | undefined {
  const { hash, ...rest } = record;
  if (chainHash(rest, key) !== hash) return 'the record was changed, or written with another key';
  if (rest.seq !== line - 1)
    return `record ${String(rest.seq)} is in place ${line - 1}: one was removed or moved`;
  return rest.prev === head ? undefined : 'the record does not follow the one before it';
}

function checkHead(dir: string, chain: string, end: ChainEnd, problems: AuditProblem[]): void {
  const file = chain.replace(/^chain-(.*)\.jsonl$/, 'head-$1.json');
  let head: unknown;
  try {
    head = parseStrictJson(readFileSync(join(dir, file)), FILE_LIMITS);
  } catch {
    problems.push({ file, line: undefined, problem: 'the head of the chain is missing or unreadable' });
    return;
  }
  if (!isObject(head) || head.head !== end.head || head.records !== end.records) {
    problems.push({ file: chain, line: undefined, problem: 'the chain does not end where its head says' });
  }
}
