import { type FilterField, findFilterField, nearestField } from './fields.ts';

/** Longest filter that is read, in UTF-16 code units, and the most terms. */
const MAX_CHARS = 2000;
const MAX_TERMS = 40;

export type FilterOperator = ':' | '>' | '<' | '>=' | '<=';

export interface FilterTerm {
  /** Offsets in the text, the minus sign included. */
  readonly start: number;
  readonly end: number;
  readonly isNegated: boolean;
  readonly field: FilterField;
  readonly operator: FilterOperator;
  /** Alternatives, of which one is to hold: `status:failed,denied`. Words are in their first form. */
  readonly values: readonly string[];
}

/** A part of a filter that was not understood, and what to do. */
export interface FilterProblem {
  readonly start: number;
  readonly end: number;
  readonly message: string;
  /** Text that would be understood in its place. */
  readonly suggestion?: string | undefined;
}

/** A problem in words: `There is no field 'tol'. Did you mean 'tool:pay'?`. */
export function formatProblem({ message, suggestion }: FilterProblem): string {
  return suggestion === undefined ? message : `${message}. Did you mean '${suggestion}'?`;
}

/** A filter that was read. With a problem it selects nothing, since the rest of it would select too much. */
export interface Filter {
  readonly terms: readonly FilterTerm[];
  readonly problems: readonly FilterProblem[];
}

const NAME: FilterField = { name: 'name', kind: 'name', hint: 'name of the run' };

/** A word up to white space, quoted parts included. */
const WORD = /(?:[^\s"]|"[^"]*"?)+/gu;
const TERM = /^(-?)(?:([A-Za-z_.]{1,40})(>=|<=|:|>|<))?([\s\S]*)$/u;

/**
 * Reads a filter: terms separated by spaces, all of which are to hold. A term is `field:value` or `field>value`; `-`
 * before it negates, quotes hold spaces, a comma separates alternatives, and a bare word is looked up in the name.
 */
export function parseFilter(text: string): Filter {
  const terms: FilterTerm[] = [];
  const problems: FilterProblem[] = [];
  if (text.length > MAX_CHARS) {
    return {
      terms,
      problems: [{ start: 0, end: text.length, message: `A filter has at most ${MAX_CHARS} characters` }],
    };
  }
  for (const match of text.matchAll(WORD)) {
    const read = readTerm(match[0], match.index);
    if ('message' in read) problems.push(read);
    else if (terms.length < MAX_TERMS) terms.push(read);
    else
      problems.push({ start: read.start, end: read.end, message: `A filter has at most ${MAX_TERMS} terms` });
  }
  return { terms, problems };
}

function readTerm(word: string, start: number): FilterTerm | FilterProblem {
  const end = start + word.length;
  const [, sign = '', name, operator = ':', rest = ''] = TERM.exec(word) as RegExpExecArray;
  const problem = (message: string, suggestion?: string): FilterProblem => ({
    start,
    end,
    message,
    suggestion,
  });
  if (name === undefined) {
    const value = unquoted(rest);
    if (value === '') return problem('A term needs a value');
    return { start, end, isNegated: sign === '-', field: NAME, operator: ':', values: [value] };
  }
  const field = findFilterField(name);
  if (field === undefined) {
    const nearest = nearestField(name);
    return problem(
      `No field is called '${name}'`,
      nearest === undefined ? undefined : `${sign}${nearest}${operator}${rest}`,
    );
  }
  const given = alternatives(rest).filter((value) => value !== '');
  if (given.length === 0) return problem(`'${field.name}' needs a value: ${field.hint}`);
  const isOrdered = ['rank', 'number', 'duration'].includes(field.kind);
  if (operator !== ':' && !isOrdered) {
    return problem(`'${field.name}' takes ':' only`, `${sign}${field.name}:${rest}`);
  }
  const values: string[] = [];
  for (const value of given) {
    const known = comparable(field, value);
    if (known === undefined) return problem(`'${field.name}' is ${expected(field)}, got '${value}'`);
    values.push(known);
  }
  return { start, end, isNegated: sign === '-', field, operator: operator as FilterOperator, values };
}

/** Splits at commas outside of quotes. */
function alternatives(text: string): string[] {
  return [...text.matchAll(/(?:[^,"]|"[^"]*"?)+/gu)].map((match) => unquoted(match[0]));
}

function unquoted(text: string): string {
  return text.replaceAll('"', '');
}

/** The value in the form in which it is compared; undefined if the field cannot have it. */
function comparable(field: FilterField, value: string): string | undefined {
  switch (field.kind) {
    case 'word':
    case 'rank': {
      const word = value.toLowerCase();
      const first = Object.hasOwn(field.synonyms ?? {}, word) ? field.synonyms?.[word] : word;
      return field.words?.find((known) => known === first);
    }
    case 'number':
      return findAmount(value) === undefined ? undefined : value;
    case 'duration':
      return readDuration(value) === undefined ? undefined : value;
    case 'time':
      return findTime(value, 0) === undefined ? undefined : value;
    default:
      return value;
  }
}

function expected({ kind, words, hint }: FilterField): string {
  return words === undefined
    ? `${kind === 'number' ? 'a number: ' : ''}${hint}`
    : `one of ${words.join(', ')}`;
}

/** A number: `0.01`, `$0.01`, `12k`, `1.5M`. */
export function findAmount(text: string): number | undefined {
  const match = /^\$?(\d{1,15}(?:\.\d{1,9})?|\.\d{1,9})([kM]?)$/u.exec(text);
  if (match === null) return undefined;
  return Number(match[1]) * (match[2] === 'k' ? 1e3 : match[2] === 'M' ? 1e6 : 1);
}

const SECONDS = { ms: 0.001, s: 1, m: 60, min: 60, h: 3600 } as const;

/** Seconds: `300ms`, `2s`, `5m`, `1h`; a bare number is seconds. */
export function readDuration(text: string): number | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,6})?)(ms|s|min|m|h)?$/u.exec(text);
  if (match === null) return undefined;
  return Number(match[1]) * SECONDS[(match[2] ?? 's') as keyof typeof SECONDS];
}

const AGE_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** Milliseconds since 1970: an age before `nowMs`, or an ISO 8601 date or time, UTC without a zone. */
export function findTime(text: string, nowMs: number): number | undefined {
  const age = /^(\d{1,6})([smhdw])$/u.exec(text);
  if (age !== null) return nowMs - Number(age[1]) * AGE_MS[age[2] as keyof typeof AGE_MS];
  if (!/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?$/u.test(text))
    return undefined;
  const hasZone = /(?:Z|[+-]\d\d:\d\d)$/u.test(text) && text.includes('T');
  const ms = Date.parse(text.includes('T') && !hasZone ? `${text}Z` : text);
  return Number.isNaN(ms) ? undefined : ms;
}
