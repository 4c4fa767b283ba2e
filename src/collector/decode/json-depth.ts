import { malformed } from './decode-error.ts';

/** Levels of JSON; the deepest value that is kept takes some 600. */
const MAX_JSON_DEPTH = 1000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Refuses JSON that is nested without end, before it is parsed: a few megabytes of `[` would become some hundreds in
 * memory.
 * @throws DecodeError
 */
export function checkJsonDepth(body: Buffer): void {
  let depth = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === QUOTE) at = endOfString(body, at + 1);
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > MAX_JSON_DEPTH) throw malformed(`The JSON is nested deeper than ${MAX_JSON_DEPTH} levels`);
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
  }
}

/** Where the quote stands that ends a string, or the end of the body. */
function endOfString(body: Buffer, start: number): number {
  for (let from = start; ; ) {
    const quote = body.indexOf(QUOTE, from);
    if (quote === -1) return body.length;
    let backslashes = 0;
    for (let at = quote - 1; at >= start && body[at] === BACKSLASH; at -= 1) backslashes += 1;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}
