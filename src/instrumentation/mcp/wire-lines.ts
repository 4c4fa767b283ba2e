/** JSON-RPC messages in the bytes of a wire, one message or batch a line, an event or a body. */
import { isObject } from '../../json/index.ts';
import type { McpMessage, RequestId } from './internal-types.ts';

/** Longest line that is parsed. Of a longer one the envelope is read, from its two ends. */
const MAX_LINE_BYTES = 1024 * 1024;
const END_BYTES = 1024;
const NEWLINE = 0x0a;

/** White space, a byte order mark, and the brackets of JSON. */
export const FIRST_BYTES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0x7b, 0x5b]);

/** `events`: Server-Sent Events, of which each has its message in one line. */
export type WireForm = 'lines' | 'events' | 'body';

/** Puts lines together from chunks. Holds no more than `MAX_LINE_BYTES` of a line, in a copy of its own. */
export class WireLines {
  form: WireForm;
  readonly #take: (messages: readonly McpMessage[]) => void;
  /** The first `#length` bytes hold a line that has not ended. */
  #held: Buffer = Buffer.alloc(END_BYTES);
  #length = 0;
  /** The beginning of a line that is too long; the end is held. */
  #head: Buffer | undefined;

  /** @param take Called for each line that is not blank, with its messages; none if it is no JSON-RPC. */
  constructor(take: (messages: readonly McpMessage[]) => void, form: WireForm = 'lines') {
    this.#take = take;
    this.form = form;
  }

  /** Bytes held of the line that has not ended. */
  get length(): number {
    return this.#length;
  }

  add(chunk: unknown, encoding?: unknown): void {
    if (chunk instanceof Uint8Array) {
      this.#addBytes(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
    } else if (typeof chunk === 'string') {
      const isUtf8 = typeof encoding !== 'string' || /^(?:utf-?8|buffer)$/i.test(encoding);
      const isLine = this.form === 'lines' && isUtf8 && this.#length === 0 && chunk.length <= MAX_LINE_BYTES;
      // Most servers write a message at a time.
      if (isLine && chunk.indexOf('\n') === chunk.length - 1) this.#takeLine(chunk);
      else this.#addBytes(Buffer.from(chunk, isUtf8 ? 'utf8' : (encoding as BufferEncoding)));
    }
  }

  /** A body has no other end. */
  end(): void {
    if (this.#length > 0) this.#end(Buffer.alloc(0));
  }

  #addBytes(bytes: Buffer): void {
    let from = 0;
    for (
      let at = this.form === 'body' ? -1 : bytes.indexOf(NEWLINE);
      at >= 0;
      at = bytes.indexOf(NEWLINE, from)
    ) {
      this.#end(bytes.subarray(from, at));
      from = at + 1;
    }
    if (from < bytes.length) this.#hold(bytes.subarray(from));
  }

  #end(rest: Buffer): void {
    if (this.#length === 0 && rest.length <= MAX_LINE_BYTES) {
      this.#takeLine(rest.toString());
      return;
    }
    this.#hold(rest);
    const line = this.#held.subarray(0, this.#length);
    const head = this.#head;
    this.#length = 0;
    this.#head = undefined;
    if (head === undefined) this.#takeLine(line.toString());
    else this.#take(envelopeIn(this.#stripField(head.toString()), line.subarray(-END_BYTES).toString()));
    if (this.#held.length > MAX_IDLE_BYTES) this.#held = Buffer.alloc(END_BYTES);
  }

  #takeLine(line: string): void {
    if (/\S/.test(line)) this.#take(listMessages(this.#stripField(line)));
  }

  #stripField(line: string): string {
    return this.form === 'events' && line.startsWith('data:') ? line.slice('data:'.length) : line;
  }

  #hold(piece: Buffer): void {
    const held = this.#held.subarray(0, this.#length);
    const length = held.length + piece.length;
    if (length > MAX_LINE_BYTES) {
      this.#head ??= Buffer.concat([held.subarray(0, END_BYTES), piece.subarray(0, END_BYTES)]).subarray(
        0,
        END_BYTES,
      );
      this.#held = Buffer.concat([held.subarray(-END_BYTES), piece.subarray(-END_BYTES)]).subarray(
        -END_BYTES,
      );
      this.#length = this.#held.length;
      return;
    }
    if (length > this.#held.length) {
      this.#held = Buffer.alloc(Math.min(2 * length, MAX_LINE_BYTES));
      held.copy(this.#held);
    }
    piece.copy(this.#held, held.length);
    this.#length = length;
  }
}

/** A larger buffer is given up when its line has ended. */
const MAX_IDLE_BYTES = 64 * 1024;

function listMessages(line: string): readonly McpMessage[] {
  if (!/^[\s\ufeff]*[[{]/.test(line) || !line.includes('"jsonrpc"')) return [];
  try {
    const parsed: unknown = JSON.parse(line.charCodeAt(0) === 0xfeff ? line.slice(1) : line);
    const all: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
    return all.filter((one): one is McpMessage => isObject(one) && one.jsonrpc === '2.0');
  } catch {
    return [];
  }
}

/** A string of JSON without escapes. */
const TEXT = String.raw`"[ !#-\[\]-\uffff]{1,128}"`;
const ID = String.raw`"id":\s?(\d{1,15}|${TEXT})`;
const VERSION = String.raw`"jsonrpc":\s?"2\.0"`;
/** SDKs write the envelope before the message's own members, or after them. */
const AT_HEAD = new RegExp(String.raw`^\s{0,9}\{(?:${VERSION},\s?${ID}|${ID},\s?${VERSION}),`);
const AT_TAIL = new RegExp(String.raw`,\s?(?:${VERSION},\s?${ID}|${ID},\s?${VERSION})\s?\}\s{0,9}$`);
const REQUEST = new RegExp(
  String.raw`^\s{0,9}\{[^{}]{0,180}"method":\s?"([\w/.$-]{1,128})"(?:,\s?"params":\s?\{"name":\s?(${TEXT}))?`,
);
const ERROR = /^\s{0,9}\{[^{}]{0,180}"error":\s?\{/;
const IS_FAILED = /"result":\s?\{"isError":\s?true|\],\s?"isError":\s?true\s?\}\s?[,}]/;

/** What the two ends of a message tell that is too long to be read: its id, its method or how it ended. */
function envelopeIn(head: string, tail: string): readonly McpMessage[] {
  const found = AT_HEAD.exec(head) ?? AT_TAIL.exec(tail);
  const written = found?.[1] ?? found?.[2];
  if (written === undefined) return [];
  const id = JSON.parse(written) as RequestId;
  const [, method, name] = REQUEST.exec(head) ?? [];
  if (method !== undefined)
    return [{ id, method, params: name === undefined ? {} : { name: JSON.parse(name) as string } }];
  if (ERROR.test(head)) return [{ id, error: {} }];
  const isError = IS_FAILED.test(head) || IS_FAILED.test(tail);
  return [{ id, result: isError ? { isError } : {} }];
}
