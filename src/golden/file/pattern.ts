/** Patterns of texts, in which `*` stands for a part that varies, and a backslash takes the next character as it is. */

/** Part of a text: from its first character to before its last. */
type Span = readonly [from: number, to: number];

/** Signs within ids, numbers, times and addresses; a part may hold any other only if the recorded one does. */
const JOINTS = '-+/=.:_';
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
  const [were, are] = [matchPattern(pattern, recorded), matchPattern(pattern, actual)];
  if (were === undefined || are === undefined) return recorded === actual;
  return were.every((was, index) => isAlike(recorded.slice(...was), actual.slice(...(are[index] as Span))));
}

function isAlike(recorded: string, actual: string): boolean {
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
  const pattern = toPattern(recorded, joined(recorded, [...before, ...parts]));
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

/** Words that differ, if what is between them does not; else what is left between the same words at both ends. */
function findInner(recorded: string, other: string): Span[] {
  const [left, right] = [listRuns(recorded, WORDS), listRuns(other, WORDS)];
  if (recorded.replace(WORDS, 'a') === other.replace(WORDS, 'a'))
    return left
      .filter(({ run }, index) => run !== right[index]?.run)
      .map(({ run, at }) => [at, at + run.length]);
  const most = Math.min(recorded.length, other.length);
  let start = 0;
  while (start < most && recorded[start] === other[start]) start += 1;
  let end = 0;
  while (end < most - start && recorded.at(-1 - end) === other.at(-1 - end)) end += 1;
  const isInWord = (at: number): boolean => /[\p{L}\p{N}_-]/u.test(recorded[at] ?? '');
  while (start > 0 && isInWord(start - 1)) start -= 1;
  while (end > 0 && isInWord(recorded.length - end)) end -= 1;
  return [[start, recorded.length - end]];
}

const WORDS = /[\p{L}\p{N}]+/gu;

function listRuns(text: string, pattern: RegExp): { readonly run: string; readonly at: number }[] {
  return [...text.matchAll(pattern)].map(({ 0: run, index: at }) => ({ run, at }));
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
