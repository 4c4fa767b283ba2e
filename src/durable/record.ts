import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { crc32, deflateRaw, deflateRawSync, inflateRaw } from 'node:zlib';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { decodeProtobuf, encodeProtobuf } from '../otlp/index.ts';

/**
 * One record of a segment, which holds the spans of one batch:
 *
 * | bytes | content |
 * |---|---|
 * | 3 | `MCO`, marker to find the next record after a damaged one |
 * | 1 | form of the payload: `T` |
 * | 4 | length of the payload |
 * | 4 | CRC-32 of the form and the remainder |
 * | 4 | number of spans |
 * | n | payload, deflated: groups of spans, each an OTLP request in protobuf, prefixed with its length |
 *
 * Integers are unsigned and big-endian.
 */
const MAGIC = Buffer.from('MCO');
const FORM = 'T'.charCodeAt(0);
const RECORD_HEADER_BYTES = 16;

/** Spans encoded at once; more would block the event loop for too long. */
const GROUP = 32;

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** A record found in a segment. */
export interface FoundRecord {
  /** Whether this version can read its form. */
  readonly isKnown: boolean;
  readonly spans: number;
  /** The payload, still deflated. */
  readonly payload: Buffer;
  readonly start: number;
  /** Offset at which the next record may start. */
  readonly end: number;
}

/** Level 1 shrinks spans to about an eighth; higher levels are not worth the time. */
const LEVEL = { level: 1 };

/** Encodes a batch, yielding to the event loop between groups of spans. */
export async function encodeRecord(spans: readonly ReadableSpan[]): Promise<Buffer> {
  const groups: Buffer[] = [];
  for (let i = 0; i < spans.length; i += GROUP) {
    if (i > 0) await nextTurn();
    groups.push(...encodeGroup(spans.slice(i, i + GROUP)));
  }
  return toRecord({ length: spans.length, groups: Buffer.concat(groups) });
}

/** A batch as bytes, a tenth of the size of its spans. */
export interface EncodedBatch {
  readonly length: number;
  /** The payload of a record before it is deflated. */
  readonly groups: Buffer;
}

/** Encodes a batch at once. */
export function encodeBatchNow(spans: readonly ReadableSpan[]): EncodedBatch {
  const groups: Buffer[] = [];
  for (let i = 0; i < spans.length; i += GROUP) groups.push(...encodeGroup(spans.slice(i, i + GROUP)));
  return { length: spans.length, groups: Buffer.concat(groups) };
}

/** The record of a batch, deflated by another thread. */
export async function toRecord({ length, groups }: EncodedBatch): Promise<Buffer> {
  return withHeader(await deflate(groups, LEVEL), length);
}

/** The record of a batch, at once. */
export function recordNow({ length, groups }: EncodedBatch): Buffer {
  return withHeader(deflateRawSync(groups, LEVEL), length);
}

function encodeGroup(spans: readonly ReadableSpan[]): [Buffer, Buffer] {
  const bytes = encodeProtobuf(spans);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return [length, bytes];
}

function withHeader(payload: Buffer, spans: number): Buffer {
  const header = Buffer.alloc(RECORD_HEADER_BYTES);
  MAGIC.copy(header);
  header[MAGIC.length] = FORM;
  header.writeUInt32BE(payload.length, 4);
  header.writeUInt32BE(spans, 12);
  header.writeUInt32BE(checksum(FORM, header.subarray(12), payload), 8);
  return Buffer.concat([header, payload]);
}

/** @throws Error when the payload cannot be read. */
export async function decodeRecord({ payload }: FoundRecord): Promise<ReadableSpan[]> {
  const groups: Buffer = await inflate(payload);
  const spans: ReadableSpan[] = [];
  for (let at = 0; at < groups.length; ) {
    const end = at + 4 + groups.readUInt32BE(at);
    spans.push(...decodeProtobuf(groups.subarray(at + 4, end), GROUP).spans);
    at = end;
    if (at < groups.length) await nextTurn();
  }
  return spans;
}

/**
 * The first intact record from `start` on, of any form; torn or damaged ones are skipped.
 * @returns `undefined` when there is none.
 */
export function findRecord(segment: Buffer, start: number): FoundRecord | undefined {
  for (let at = start; ; at += 1) {
    at = segment.indexOf(MAGIC, at);
    if (at === -1 || at + RECORD_HEADER_BYTES > segment.length) return undefined;
    const end = at + RECORD_HEADER_BYTES + segment.readUInt32BE(at + 4);
    if (end > segment.length) continue;
    const payload = segment.subarray(at + RECORD_HEADER_BYTES, end);
    const form = segment[at + MAGIC.length] as number;
    if (checksum(form, segment.subarray(at + 12, at + 16), payload) !== segment.readUInt32BE(at + 8))
      continue;
    return { isKnown: form === FORM, spans: segment.readUInt32BE(at + 12), payload, start: at, end };
  }
}

/** Spans in the intact records of a segment. */
export function spansIn(segment: Buffer): number {
  let spans = 0;
  for (let found = findRecord(segment, 0); found !== undefined; found = findRecord(segment, found.end)) {
    spans += found.spans;
  }
  return spans;
}

function checksum(form: number, count: Buffer, payload: Buffer): number {
  return crc32(payload, crc32(count, crc32(Buffer.of(form))));
}
