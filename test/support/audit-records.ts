import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A line of an audit trail. */
export type AuditRecord = Readonly<Record<string, unknown>>;

/** The records of every run of an audit folder, runs in the order they were opened. */
export function auditRecords(dir: string): AuditRecord[] {
  return readdirSync(dir)
    .filter((name) => name.startsWith('run-'))
    .sort()
    .flatMap((name) => readFileSync(join(dir, name), 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line) as AuditRecord);
}
