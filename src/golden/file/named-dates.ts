/** Dates as people write them: with the month's name in any language that `Intl` knows, or without a year. */

const DAY_MS = 86_400_000;
/** Days of a run that are looked for. */
const MAX_DAYS = 40;
/** What stands around the name of a month. */
const BEFORE = 48;
const AFTER = 24;

const WORD = /[\p{L}\p{M}]{3,24}/gu;
/** `27.`, `27th of`, `27 de` before a month's name. */
const DAY_BEFORE = /(?<![\d.,:/-])(\d{1,2})(?:\.?[º°ª]|\.|[a-z]{2})?[ -](?:\p{L}{1,3} )?$/u;
const DAY_AFTER = /^\.? (\d{1,2})(?:[a-z]{2})?(?![\d:.]\d|\d)/;
const YEAR_AFTER = /^\.?,?(?: \p{L}{1,3}\.?)?[ -](\d{4})(?!\d)/u;
const YEAR_BEFORE = /(?<!\d)(\d{4})\.?(?: \p{L}{1,3}\.)? $/u;
const WEEKDAY_BEFORE = /([\p{L}\p{M}-]{2,24})\.?,? (?:\p{L}{1,3} )?$/u;
const WEEKDAY_AFTER = /^\.?,? ?\(?([\p{L}\p{M}-]{2,24})/u;
/** 2026年11月27日, 11월 27일, 2026. 11. 27.; 27.11., 27. 11. 2026; 11/27, 27/11/26. */
const NUMBERS =
  /(?<![\d.])(?:(\d{4}) ?[年년.] ?)?(\d{1,2}) ?[月월.] ?(\d{1,2}) ?[日일.](?: ?(\d{4}|\d{2})(?!\d))?(?!\.?\d)|(?<![\d/])(\d{2})\/(\d{2})(?:\/(\d{2}))?(?![\d/])/gu;

/** Part of a text: from its first character to before its last. */
type Span = readonly [from: number, to: number];

/** A day of the calendar. */
interface Day {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
  /** From 0 for Sunday. */
  readonly weekday: number;
}

/** The parts of a text that are dates of a run. @param times of the run, in milliseconds since the epoch */
export function findNamedDates(text: string, times: readonly number[]): Span[] {
  const days = listDays(times);
  // The names of months are made only for a text with the number of a day or year of the run.
  const numbers = new Set(days.flatMap(({ day, year }) => [day, year]));
  if (!text.match(/\d+/g)?.some((digits) => numbers.has(Number(digits)))) return [];
  const months = new Set(days.map(({ month }) => month));
  const isOne = (wanted: Partial<Day>): boolean =>
    days.some((day) => (Object.keys(wanted) as (keyof Day)[]).every((key) => wanted[key] === day[key]));
  const found: Span[] = [];
  for (const { 0: word, index } of text.matchAll(WORD)) {
    for (const month of months) {
      if (!listNames('month', month).has(word.toLowerCase())) continue;
      const span = readAround(text, index, word.length, month, isOne);
      if (span !== undefined) found.push(span);
    }
  }
  for (const { 0: token, index, ...groups } of text.matchAll(NUMBERS)) {
    const [early, one, other, late, first, second, short] = Object.values(groups)
      .slice(0, 7)
      .map((digits) => (digits === undefined ? undefined : Number(digits)));
    const year = early ?? late ?? short;
    const of = year === undefined ? {} : { year: year < 100 ? 2000 + year : year };
    const [left = 0, right = 0] = [one ?? first, other ?? second];
    for (const [month, day] of [
      [left, right],
      [right, left],
    ] as const) {
      if (!isOne({ ...of, month, day })) continue;
      found.push(withWeekday(text, [index, index + token.length], { month, day }, isOne));
      break;
    }
  }
  return found;
}

/** The date around the name of a month; undefined if none of the run's. */
function readAround(
  text: string,
  index: number,
  length: number,
  month: number,
  isOne: (wanted: Partial<Day>) => boolean,
): Span | undefined {
  let [from, to] = [index, index + length];
  const before = DAY_BEFORE.exec(text.slice(Math.max(0, from - BEFORE), from));
  if (before !== null) from -= before[0].length;
  const after = before === null ? DAY_AFTER.exec(text.slice(to, to + AFTER)) : null;
  if (after !== null) to += after[0].length;
  const late = YEAR_AFTER.exec(text.slice(to, to + AFTER));
  if (late !== null) to += late[0].length;
  const early = late === null ? YEAR_BEFORE.exec(text.slice(Math.max(0, from - BEFORE), from)) : null;
  if (early !== null) from -= early[0].length;
  const year = late ?? early;
  const day = before?.[1] ?? after?.[1];
  if (day === undefined && year === null) return undefined;
  // In small letters and alone, an abbreviation is more likely a word: `29 out of 30`, `30 now`.
  if (year === null && /^[a-z]{3}(?!\.)/.test(text.slice(index, index + length + 1)) && length === 3)
    return undefined;
  const wanted = { month, ...(day === undefined ? {} : { day: Number(day) }) };
  if (!isOne({ ...wanted, ...(year === null ? {} : { year: Number(year[1]) }) })) return undefined;
  return withWeekday(text, [from, to], wanted, isOne);
}

/** A date with the name of its weekday before or after it. */
function withWeekday(
  text: string,
  [from, to]: Span,
  wanted: Partial<Day>,
  isOne: (wanted: Partial<Day>) => boolean,
): Span {
  const isName = (found: RegExpExecArray | null): boolean =>
    found !== null &&
    [0, 1, 2, 3, 4, 5, 6].some(
      (weekday) =>
        isOne({ ...wanted, weekday }) && listNames('weekday', weekday).has((found[1] ?? '').toLowerCase()),
    );
  const before = WEEKDAY_BEFORE.exec(text.slice(Math.max(0, from - BEFORE), from));
  if (isName(before)) return [from - (before?.[0].length ?? 0), to];
  const after = WEEKDAY_AFTER.exec(text.slice(to, to + AFTER));
  return [from, to + (isName(after) ? (after?.[0].length ?? 0) : 0)];
}

/** The days of a run, with those before and after it: a program may be in any zone. */
function listDays(times: readonly number[]): Day[] {
  const [start, end] = [Math.min(...times) - DAY_MS, Math.max(...times) + DAY_MS];
  const count = Math.min(MAX_DAYS, Math.ceil((end - start) / DAY_MS) + 1);
  return Array.from({ length: Number.isNaN(count) ? 0 : count }, (_, at) => {
    const date = new Date(start + at * DAY_MS);
    return {
      year: date.getUTCFullYear(),
      month: date.getUTCMonth() + 1,
      day: date.getUTCDate(),
      weekday: date.getUTCDay(),
    };
  });
}

const known = new Map<string, ReadonlySet<string>>();

/** The last words of the names of a month (from 1) or weekday (from 0), in small letters, in every language. */
function listNames(part: 'month' | 'weekday', at: number): ReadonlySet<string> {
  const key = `${part} ${at}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  // November 1, 2026 was a Sunday.
  const date = part === 'month' ? Date.UTC(2026, at - 1, 15) : Date.UTC(2026, 10, 1 + at);
  const names = new Set<string>();
  for (const language of listLanguages()) {
    for (const width of ['long', 'short'] as const) {
      // With the day beside it, many languages decline the name of a month.
      for (const beside of part === 'month' ? ['numeric' as const, undefined] : [undefined]) {
        const format = new Intl.DateTimeFormat(language, { day: beside, [part]: width, timeZone: 'UTC' });
        const name = format.formatToParts(date).find(({ type }) => type === part)?.value ?? '';
        const word = name.toLowerCase().split(' ').at(-1) ?? '';
        names.add(word.replace(/\.$/, ''));
      }
    }
  }
  known.set(key, names);
  return names;
}

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];
let languages: readonly string[] | undefined;

/** The languages with a code of two letters, with the calendar of ISO 8601. */
function listLanguages(): readonly string[] {
  languages ??= Intl.DateTimeFormat.supportedLocalesOf(
    LETTERS.flatMap((first) => LETTERS.map((second) => first + second)),
  ).map((language) => `${language}-u-ca-gregory`);
  return languages;
}
