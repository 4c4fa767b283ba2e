/** A run file of the audit trail, with the content of its records. */
import { createReadStream, statSync } from 'node:fs';
import { ObservatoryError, readLines } from '../../base/index.ts';
import { canonicalJson, type JsonObject } from '../../json/index.ts';
import { hashText, parseObject, type RecordContent, readKept } from '../audit/index.ts';

/** A record that may be decided again. */
export interface TraceRecord {
  readonly seq: number;
  readonly event: string;
  readonly fields: JsonObject;
  /** Absent where none was kept. */
  readonly content: (RecordContent & { readonly isRedacted: boolean }) | undefined;
}

const MAX_RECORDS = 100_000;

/**
 * Reads a trace, one record after the other.
 * @param key the key of the trail, where it has one.
 * @throws ObservatoryError `INVALID_INPUT` for what is no trace, was changed, or does not open with this key.
 */
export async function* readTrace(path: string, key: string | undefined): AsyncGenerator<TraceRecord> {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true)
    throw unusableTrace(path, 'it is not a file. Name a run-*.jsonl of the audit trail');
  const input = createReadStream(path);
  let seq = 0;
  let head: unknown;
  try {
    for await (const line of readLines(input)) {
      const record = typeof line === 'string' ? parseObject(line) : undefined;
      if (record === undefined) throw unusableTrace(path, `line ${seq + 1} is not a record`);
      const { hash, ...fields } = record;
      const isLinked = fields.seq === seq && (seq === 0 || fields.prev === head);
      if (!isLinked || hashText(canonicalJson(fields), key) !== hash) {
        throw unusableTrace(path, `record ${seq} was changed, or written with another key (SAFE_AUDIT_KEY)`);
      }
      const content = readContent(path, record, key);
      yield { seq, event: String(fields.event), fields, content };
      head = hash;
      seq += 1;
      if (seq > MAX_RECORDS) throw unusableTrace(path, `it has more than ${MAX_RECORDS} records`);
    }
  } finally {
    input.destroy();
  }
}

function readContent(path: string, record: JsonObject, key: string | undefined): TraceRecord['content'] {
  let content: ReturnType<typeof readKept>;
  try {
    content = readKept(record, key);
  } catch (cause) {
    throw unusableTrace(path, 'the content of a record is not JSON', cause);
  }
  if (content === 'locked')
    throw unusableTrace(path, 'its content does not open with this key (SAFE_AUDIT_KEY)');
  return content;
}

/** The error of a trace that cannot be replayed. */
export function unusableTrace(path: string, why: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError('INVALID_INPUT', `The trace '${path}' cannot be replayed: ${why}`, { cause });
}
