import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { crc32, deflateRaw, inflateRaw } from 'node:zlib';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { decodeSpans, encodeSpans } from './span-codec.ts';

/**
 * One record of a segment, which holds the spans of one batch:
 *
 * | bytes | content |
 * |---|---|
 * | 4 | `MCOS`, marker to find the next record after a damaged one |
 * | 4 | length of the payload |
 * | 4 | CRC-32 of the remainder |
 * | 4 | number of spans |
 * | n | payload, deflated: groups of spans, each prefixed with its length |
 *
 * Integers are unsigned and big-endian.
 */
const MAGIC = Buffer.from('MCOS');
const RECORD_HEADER_BYTES = 16;

/** Spans encoded at once; more would block the event loop for too long. */
const GROUP = 32;

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** A record found in a segment. */
export interface FoundRecord {
  readonly spans: number;
  /** The payload, still deflated. */
  readonly payload: Buffer;
  readonly start: number;
  /** Offset at which the next record may start. */
  readonly end: number;
}

/** Encodes a batch, yielding to the event loop between groups of spans. */
export async function encodeRecord(spans: readonly ReadableSpan[]): Promise<Buffer> {
  const groups: Buffer[] = [];
  for (let i = 0; i < spans.length; i += GROUP) {
    if (i > 0) await nextTurn();
    const bytes = encodeSpans(spans.slice(i, i + GROUP));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    groups.push(length, bytes);
  }
  // Level 1 shrinks spans to about an eighth; higher levels are not worth the time.
  const payload = await deflate(Buffer.concat(groups), { level: 1 });
  const header = Buffer.alloc(RECORD_HEADER_BYTES);
  MAGIC.copy(header);
  header.writeUInt32BE(payload.length, 4);
  header.writeUInt32BE(spans.length, 12);
  header.writeUInt32BE(checksum(header.subarray(12), payload), 8);
  return Buffer.concat([header, payload]);
}

/** @throws Error when the payload has an unknown format. */
export async function decodeRecord(payload: Buffer): Promise<ReadableSpan[]> {
  const groups: Buffer = await inflate(payload);
  const spans: ReadableSpan[] = [];
  for (let at = 0; at < groups.length; ) {
    const end = at + 4 + groups.readUInt32BE(at);
    spans.push(...decodeSpans(groups.subarray(at + 4, end)));
    at = end;
    if (at < groups.length) await nextTurn();
  }
  return spans;
}

/**
 * The first intact record from `start` on; torn or damaged ones are skipped.
 * @returns the number of bytes left when there is none.
 */
export function findRecord(segment: Buffer, start: number): FoundRecord | number {
  for (let at = start; ; at += 1) {
    at = segment.indexOf(MAGIC, at);
    if (at === -1 || at + RECORD_HEADER_BYTES > segment.length) return segment.length - start;
    const end = at + RECORD_HEADER_BYTES + segment.readUInt32BE(at + 4);
    if (end > segment.length) continue;
    const payload = segment.subarray(at + RECORD_HEADER_BYTES, end);
    if (checksum(segment.subarray(at + 12, at + 16), payload) !== segment.readUInt32BE(at + 8)) continue;
    return { spans: segment.readUInt32BE(at + 12), payload, start: at, end };
  }
}

/** Spans in the intact records of a segment. */
export function spansIn(segment: Buffer): number {
  let spans = 0;
  for (let at = 0; ; ) {
    const found = findRecord(segment, at);
    if (typeof found === 'number') return spans;
    spans += found.spans;
    at = found.end;
  }
}

function checksum(count: Buffer, payload: Buffer): number {
  return crc32(payload, crc32(count));
}
