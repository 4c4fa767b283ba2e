/** Traces the strings and numbers of a call to where they came from. */
import { hasInvisible } from '../evidence/index.ts';
import { type FieldPath, type FieldPattern, formatPath, standsWithin } from './fields.ts';
import type { Origin, RunMemory } from './memory.ts';
import type { SourceText, Wanted } from './source-text.ts';
import { type KeyedValue, keyedValuesIn, numberKey } from './value-keys.ts';
import { joinWords, namesThing, readForms, readWords, toKey } from './words.ts';

/**
 * Where an argument came from: the prompt, the operator's text, a value that a person approved, a field of an earlier
 * result, a field that outsiders may write, nothing that is known, or it cannot be said since something was missed.
 */
export type SourceKind = 'prompt' | 'operator' | 'approved' | 'result' | 'untrusted' | 'none' | 'unknown';

/** The source of one string or number of a call. */
export interface ArgumentSource {
  /** The argument, or the part of it. */
  readonly argument: string;
  readonly source: SourceKind;
  /** Of a result. */
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  readonly field?: string | undefined;
}

/** One string or number of a call, and every place where it was found. */
export interface TracedValue {
  readonly path: FieldPath;
  readonly value: string | number;
  readonly whole: readonly Origin[];
  /** Of a list of names or values in one text, where each was found. */
  readonly pieces: readonly (readonly Origin[])[];
  /** What was not found may have been there. */
  readonly isUnsure: boolean;
}

/** Where values may have come from. */
export interface Knowledge {
  readonly request?: SourceText | undefined;
  readonly memory?: RunMemory | undefined;
}

const MAX_VALUES = 64;
/** A text beyond this is looked for as a whole only. */
const MAX_PIECES = 32;

/**
 * Traces the strings and numbers of arguments.
 * @param declared keys that are the tool's words; others are values as well.
 * @returns undefined where there are too many.
 */
export function traceValues(
  args: unknown,
  known: Knowledge,
  declared: ReadonlySet<string>,
): readonly TracedValue[] | undefined {
  const values: { path: FieldPath; value: string | number }[] = [];
  collect(args, [], declared, values);
  if (values.length > MAX_VALUES) return undefined;
  const { request, memory } = known;
  const find = (wanted: Wanted): readonly Origin[] => {
    const found = memory?.find(wanted) ?? [];
    return request !== undefined && request.find(wanted).length > 0 ? [PROMPT, ...found] : found;
  };
  const found = values.map(({ path, value }) => {
    const { whole, pieces } = readWanted(value);
    return { path, value, whole: whole.flatMap(find), pieces: pieces.map(find) };
  });
  // Looking for values has indexed what was short.
  const isUnsure = memory === undefined || memory.isCut || request?.isCut === true;
  return found.map((one) => ({ ...one, isUnsure }));
}

const PROMPT: Origin = { kind: 'prompt' };

function collect(
  value: unknown,
  path: FieldPath,
  declared: ReadonlySet<string>,
  into: { path: FieldPath; value: string | number }[],
): void {
  if (into.length > MAX_VALUES) return;
  if (typeof value === 'string' || typeof value === 'number') into.push({ path, value });
  else if (Array.isArray(value))
    for (const [i, item] of value.entries()) collect(item, [...path, i], declared, into);
  else if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value)) {
      if (!declared.has(key)) into.push({ path: [...path, key], value: key });
      collect(member, [...path, key], declared, into);
    }
}

/** What is looked for: the value in any of its forms, and the names and values that a text is a list of. */
function readWanted(value: string | number): { whole: readonly Wanted[]; pieces: readonly Wanted[] } {
  if (typeof value === 'number') return { whole: [{ keys: [toKey(numberKey(value))] }], pieces: [] };
  // A text that reads otherwise than it is comes from nobody, and a single letter from everybody.
  if (hasInvisible(value) || value === '' || /^[^\p{Nd}]$/u.test(value)) return NOTHING;
  const whole: Wanted[] = [];
  let pieces: readonly Wanted[] | undefined;
  for (const form of readForms(value)) {
    const values = isShort(form) ? keyedValuesIn(form) : [];
    const [only, ...more] = values;
    const isValue = only !== undefined && more.length === 0 && only.start === 0 && only.end === form.length;
    if (isValue) whole.push({ keys: only.asked.map(toKey) });
    // The 13 of "June 13" is a day, not the number 13.
    const isNumber = isValue && /^[\d.,]+$/.test(form);
    const words = readWords(form);
    pieces ??= readPieces(value, values, words);
    if (isNumber) continue;
    if (words.length > 0) whole.push({ words, joined: joinWords(words) });
  }
  return { whole, pieces: pieces ?? [] };
}

const NOTHING = { whole: [], pieces: [] } as const;
const isShort = (text: string): boolean => text.length <= 80;

/** The parts of a date with a time, or of a list of addresses; none of a text that says more. */
function readPieces(
  text: string,
  values: readonly KeyedValue[],
  words: readonly string[],
): readonly Wanted[] {
  let rest = '';
  let at = 0;
  for (const { start, end } of [...values].sort((a, b) => a.start - b.start)) {
    rest += `${text.slice(at, start)} `;
    at = end;
  }
  rest += text.slice(at);
  if (values.length > 1 && /^[\sTZ,;]*$/.test(rest))
    return values.map(({ asked }) => ({ keys: asked.map(toKey) }));
  if (words.length < 2 || words.length > MAX_PIECES || !words.every(namesThing)) return [];
  return words.map((word) => ({ words: [word], joined: joinWords([word]) }));
}

/** Whether outsiders may have written what an origin gives. */
export function comesFromOutside(origin: Origin, untrusted: readonly FieldPattern[]): boolean {
  return origin.kind === 'result' && untrusted.some((field) => standsWithin(origin, field));
}

const RANK: readonly SourceKind[] = [
  'prompt',
  'operator',
  'approved',
  'result',
  'untrusted',
  'unknown',
  'none',
];

/** The best source of a value; of a list of values that of the one with the worst. */
export function toSource(traced: TracedValue, untrusted: readonly FieldPattern[]): ArgumentSource {
  const argument = formatPath(traced.path);
  const unknown = traced.isUnsure ? 'unknown' : 'none';
  const best = (origins: readonly Origin[]): ArgumentSource => {
    let source: SourceKind = unknown;
    let from: Origin | undefined;
    for (const origin of origins) {
      const kind = comesFromOutside(origin, untrusted) ? 'untrusted' : origin.kind;
      if (RANK.indexOf(kind) < RANK.indexOf(source)) [source, from] = [kind, origin];
    }
    if (from?.kind !== 'result') return { argument, source };
    return { argument, source, server: from.server, tool: from.tool, field: formatPath(from.path) };
  };
  const whole = best(traced.whole);
  if (traced.pieces.length === 0) return whole;
  const pieces = traced.pieces.map(best).reduce((a, b) => (rank(b) > rank(a) ? b : a));
  return rank(pieces) < rank(whole) ? pieces : whole;
}

const rank = ({ source }: ArgumentSource): number => RANK.indexOf(source);

/** A source in words, for people: `'recipient' came from web.fetch, which outsiders may write`. */
export function describeSource({ argument, source, server, tool, field }: ArgumentSource): string {
  const place = `${server}.${tool}${field === undefined || field === '' ? '' : ` (${field})`}`;
  switch (source) {
    case 'result':
      return `'${argument}' came from ${place}`;
    case 'untrusted':
      return `'${argument}' came from ${place}, which outsiders may write`;
    case 'none':
      return `'${argument}' has no known source`;
    case 'unknown':
      return `it is not known where '${argument}' came from`;
    default:
      return `'${argument}' came from ${source === 'approved' ? 'an approved call' : `the ${source}`}`;
  }
}
