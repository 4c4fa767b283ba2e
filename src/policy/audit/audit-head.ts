/** How far a trail goes, to compare a later one with. */
import { FILE_LIMITS, isObject, type JsonObject, parseStrictJson } from '../../json/index.ts';

/** How far a file goes: the count of its records and the hash of the last. */
export interface FileEnd {
  readonly file: string;
  readonly records: number;
  readonly head: string;
}

/** How far a trail goes: its chains, and the runs that were not closed. Keep it elsewhere to find a later rollback. */
export interface AuditHead {
  readonly writers: number;
  readonly files: readonly FileEnd[];
}

/** Reads a head kept elsewhere: what `gate verify --json` printed, or its `head`. Undefined when it is neither. */
export function expectedHead(text: string | Uint8Array): AuditHead | undefined {
  const value = parseObject(text, { ...FILE_LIMITS, maxBytes: 256 * 1024 * 1024, maxValues: 20_000_000 });
  const head = isObject(value?.head) ? value.head : value;
  const isEnd = (end: unknown) =>
    isObject(end) && typeof end.file === 'string' && Number.isSafeInteger(end.records) && isHash(end.head);
  const isHead = Number.isSafeInteger(head?.writers) && Array.isArray(head?.files) && head.files.every(isEnd);
  return isHead ? (head as unknown as AuditHead) : undefined;
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

/** A JSON object, read strictly; undefined for anything else. */
export function parseObject(text: string | Uint8Array, limits = FILE_LIMITS): JsonObject | undefined {
  try {
    const value = parseStrictJson(text, limits);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
