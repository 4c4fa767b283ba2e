/** Patterns of texts, in which `*` stands for a part that varies, and a backslash takes the next character as it is. */

/** Part of a text: from its first character to before its last. */
type Span = readonly [from: number, to: number];

/** Signs within ids, numbers, times and addresses; a part may hold any other only if the recorded one does. */
const JOINTS = '-+/=.:_,';
/** How much longer than the recorded one a part may be. */
const SPARE_LENGTH = 16;

/** The pattern of a text whose parts vary. @param parts in order, not overlapping */
export function toPattern(text: string, parts: readonly Span[]): string {
  const ends = [0, ...parts.map(([, to]) => to)];
  const starts = [...parts.map(([from]) => from), text.length];
  return ends.map((end, index) => escaped(text.slice(end, starts[index]))).join('*');
}

function escaped(text: string): string {
  return text.replace(/[*\\]/g, '\\$&');
}

/** The mark that replaces a secret in a text. */
const MARK = /\[redacted(?:: [a-z ]{1,20})?\]/g;
/** The same, without the white space that a secret has not. */
const ONE_MARK = '\0';
const MAX_SECRET = 512;
/** Of a password that is several words. */
const MAX_WORDS = 8;

/** Whether a text is as short as a secret: a password may be several words on one line, in one sentence. */
export function isSecretLike(text: string): boolean {
  return text.length <= MAX_SECRET && countWords(text) <= MAX_WORDS && !/[\r\n]|[.!?]\s/.test(text);
}

/** Whether a text is a recorded one but for secrets, each of which the recording lost. */
export function isSameButForSecrets(recorded: string, actual: string): boolean {
  return (
    recorded === actual ||
    (recorded.includes('[redacted') && isSameButFor(escaped(recorded), recorded, actual))
  );
}

/** The parts of a text that are replaced in its redacted form; all of it if the two do not go together. */
export function findMarked(redacted: string, text: string): string[] {
  const parts = matchPattern(escaped(redacted).replace(MARK, '*'), text) ?? [[0, text.length]];
  return parts.map(([from, to]) => text.slice(from, to));
}

/** The parts of a text that the `*` of a pattern stand for; undefined if it does not match. Linear in the text. */
export function matchPattern(pattern: string, text: string): Span[] | undefined {
  const [head = '', ...rest] = listLiterals(pattern);
  const tail = rest.pop();
  if (tail === undefined) return text === head ? [] : undefined;
  if (!text.startsWith(head) || text.length < head.length + tail.length || !text.endsWith(tail))
    return undefined;
  const parts: Span[] = [];
  let from = head.length;
  for (const literal of rest) {
    const at = text.indexOf(literal, from);
    if (at === -1) return undefined;
    parts.push([from, at]);
    from = at + literal.length;
  }
  if (from > text.length - tail.length) return undefined;
  return [...parts, [from, text.length - tail.length]];
}

function listLiterals(pattern: string): string[] {
  const literals = [''];
  for (const [token] of pattern.matchAll(/\\?./gs)) {
    if (token === '*') literals.push('');
    else literals.push((literals.pop() ?? '') + token.slice(-1));
  }
  return literals;
}

/**
 * Whether a text is a recorded one but for the parts that vary. In each there must be as many words as in the recorded
 * part, about as long and of the same signs: what is added beside a time is found.
 */
export function isSameButFor(pattern: string, recorded: string, actual: string): boolean {
  const [was, is] = [recorded, actual].map((text) => text.replace(MARK, ONE_MARK)) as [string, string];
  const open = pattern.replace(MARK, '*');
  const [were, are] = [matchPattern(open, was), matchPattern(open, is)];
  if (were === undefined || are === undefined) return recorded === actual;
  return were.every((part, index) => isAlike(was.slice(...part), is.slice(...(are[index] as Span))));
}

function isAlike(recorded: string, actual: string): boolean {
  // What stands beside a secret that is known is none.
  if (recorded === ONE_MARK)
    return isSecretLike(actual) && (!actual.includes(ONE_MARK) || countWords(actual) === 1);
  if (actual.length > Math.max(2 * recorded.length, recorded.length + SPARE_LENGTH)) return false;
  const signs = new Set([...recorded, ...JOINTS]);
  return (
    countWords(recorded) === countWords(actual) &&
    [...actual].every((sign) => signs.has(sign) || /[\p{L}\p{N}\s]/u.test(sign))
  );
}

/** A text that does not match, with the recorded parts in place of its own, so that what differs first is no such part. */
export function withRecordedParts(pattern: string, recorded: string, actual: string): string {
  const parts = matchPattern(pattern, recorded) ?? [];
  const [head = '', ...literals] = listLiterals(pattern);
  if (!actual.startsWith(head)) return actual;
  let out = head;
  let from = head.length;
  for (const [index, part] of parts.entries()) {
    const literal = literals[index] ?? '';
    let length = literal.length;
    // Most are as long as they were.
    const same = from + part[1] - part[0];
    let at = actual.startsWith(literal, same) ? same : actual.indexOf(literal, from);
    // The beginning of a literal that differs in its end.
    while (at === -1) {
      length = Math.floor(length / 2);
      at = actual.indexOf(literal.slice(0, length), from);
    }
    if (literal === '') at = actual.length;
    if (length === 0 && literal !== '') break;
    const was = recorded.slice(...part);
    if (!isAlike(was, actual.slice(from, at))) break;
    out += was;
    from = at;
    if (length < literal.length) break;
    out += literal;
    from += length;
  }
  return out + actual.slice(from);
}

function countWords(text: string): number {
  return text.split(/\s+/).length;
}

/**
 * The pattern of a recorded text, as another run of the same program shows it: what differs varies.
 * @param known what varies already.
 * @returns undefined if the texts differ in more than parts of them.
 */
export function learnPattern(recorded: string, other: string, known?: string): string | undefined {
  const parts = findParts(recorded, other);
  if (parts === undefined) return undefined;
  const before = known === undefined ? [] : (matchPattern(known, recorded) ?? []);
  const pattern = toPattern(recorded, joined(recorded, [...before, ...widened(recorded, parts)]));
  return isSameButFor(pattern, recorded, other) ? pattern : undefined;
}

/** What differs, between the same white space. */
function findParts(recorded: string, other: string): Span[] | undefined {
  const [left, right] = [listRuns(recorded, /\S+/g), listRuns(other, /\S+/g)];
  if (left.length !== right.length || left.length === 0) return undefined;
  return left.flatMap(({ run, at }, index) =>
    findInner(run, right[index]?.run ?? '').map(([from, to]) => [at + from, at + to] as const),
  );
}

/** Words that differ, if what is between them does not; else ids, paths and the like; else all between two ends. */
function findInner(recorded: string, other: string): Span[] {
  for (const [pattern, find] of [
    [WORDS, (run: string): Span => [0, run.length]],
    [JOINED, findMiddle],
  ] as const) {
    if (recorded.replace(pattern, 'a') !== other.replace(pattern, 'a')) continue;
    const right = listRuns(other, pattern);
    return listRuns(recorded, pattern).flatMap(({ run, at }, index) => {
      const now = right[index]?.run ?? '';
      if (run === now) return [];
      const [from, to] = find(run, now);
      return [[at + from, at + to] as const];
    });
  }
  return [findMiddle(recorded, other)];
}

/** What is left between the same words at both ends. */
function findMiddle(recorded: string, other: string): Span {
  const most = Math.min(recorded.length, other.length);
  let start = 0;
  while (start < most && recorded[start] === other[start]) start += 1;
  let end = 0;
  while (end < most - start && recorded.at(-1 - end) === other.at(-1 - end)) end += 1;
  const isInWord = (at: number): boolean => /[\p{L}\p{N}_-]/u.test(recorded[at] ?? '');
  while (start > 0 && isInWord(start - 1)) start -= 1;
  while (end > 0 && isInWord(recorded.length - end)) end -= 1;
  return [start, recorded.length - end];
}

const WORDS = /[\p{L}\p{N}]+/gu;
/** Words with what may join them in an id, a path or a number. */
const JOINED = /[^\s"'`{}[\]()<>,;&?#|\\]+/g;

function listRuns(text: string, pattern: RegExp): { readonly run: string; readonly at: number }[] {
  return [...text.matchAll(pattern)].map(({ 0: run, index: at }) => ({ run, at }));
}

/** A number with its sign, groups, decimals, exponent and unit; an address or version of numbers. */
const FIGURE =
  /(?<![\p{L}\p{N}])[-+]?\d+(?:,\d{3}(?!\d))*(?:(?:\.\d+)+|(?::\d+)+)?(?:e[-+]?\d+)?(?: ?(?:[nuµm]?s|secs?|mins?|[hd]|[kKMGT]?i?B|bytes)\b)?/gu;
/** An address of hexadecimal groups, or a date. */
const GROUPS = /\b[\da-f]{1,4}([:-])[\da-f]{1,4}(?:\1[\da-f]{1,4})+\b/gi;
/** A shorter part is taken for no id of random characters. */
const MIN_ID = 8;

/** What belongs to a part that differs: the rest of a number, of an address, the signs at the ends of an id. */
function widened(text: string, parts: readonly Span[]): Span[] {
  const holders = [FIGURE, GROUPS].flatMap((pattern) => {
    let next = 0;
    return listRuns(text, pattern)
      .map(({ run, at }): Span => [at, at + run.length])
      .filter(([from, to]) => {
        while ((parts[next]?.[1] ?? to) <= from) next += 1;
        return (parts[next]?.[0] ?? to) < to;
      });
  });
  const ids = parts.filter(([from, to]) => to - from >= MIN_ID);
  const ends = ids.flatMap(([from, to]): Span[] => [
    [from - (/[-_+]+$/.exec(text.slice(Math.max(0, from - MIN_ID), from))?.[0].length ?? 0), to],
    [from, to + (/^[-_+]+/.exec(text.slice(to, to + MIN_ID))?.[0].length ?? 0)],
  ]);
  return [...parts, ...holders, ...ends];
}

/**
 * Parts that overlap as one, and those with only signs of an id between them: in an id of random characters these signs
 * are as random as the rest.
 */
function joined(text: string, parts: readonly Span[]): Span[] {
  const out: Span[] = [];
  for (const [from, to] of [...parts].sort((left, right) => left[0] - right[0])) {
    const last = out.at(-1);
    if (last !== undefined && /^[-_+/=]*$/.test(text.slice(last[1], from)))
      out[out.length - 1] = [last[0], Math.max(last[1], to)];
    else out.push([from, to]);
  }
  return out;
}
