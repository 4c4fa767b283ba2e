/** Days of the year and times of day in any usual form, as values. */

/** A place in a text that names a day. */
export interface Day {
  readonly start: number;
  readonly end: number;
  /** Month * 100 + day; of a month alone, month * 100. Of forms like `03/04/2025` there are two readings. */
  readonly readings: readonly number[];
}

/** The names of months in English, German, Spanish, French and Portuguese. */
const MONTHS: ReadonlyMap<string, number> = new Map(
  [
    'january januar enero janvier janeiro',
    'february februar febrero février fevereiro',
    'march märz marzo mars março',
    'april abril avril',
    'may mai mayo maio',
    'june juni junio juin junho',
    'july juli julio juillet julho',
    'august agosto août',
    'september septiembre septembre setembro',
    'october oktober octubre octobre outubro',
    'november noviembre novembre novembro',
    'december dezember diciembre décembre dezembro',
  ].flatMap((names, i) =>
    names
      .split(' ')
      .flatMap((name) => [name, name.slice(0, 3), name.slice(0, 4)])
      .map((name) => [name, i + 1] as const),
  ),
);
/** Quick, and true of more texts than have one. */
const MAY_NAME_MONTH = new RegExp([...MONTHS.keys()].filter((name) => name.length === 3).join('|'), 'i');
/** Short forms that are other words. */
const OTHER_WORDS: ReadonlySet<string> = new Set(['set', 'out', 'ago', 'mar', 'mars', 'march']);
const findMonth = (name: string): number =>
  OTHER_WORDS.has(name) ? 0 : (MONTHS.get(name.toLowerCase()) ?? 0);

const NUMERIC_DAY =
  /(?<![\d.])(?:(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})|(\d{1,2})([/.])(\d{1,2})\5(\d{4}|\d\d)(?!\d)|(?:(\d{4})年)?(\d{1,2})月(?:(\d{1,2})日)?)/g;
const DAY_OF_MONTH = /(?<!\d)(\d{1,2})(?:st|nd|rd|th|\.)?(?: of| de)? (\p{L}{3,10})(?!\p{L})/gu;
const MONTH_AND_DAY = /(?<!\p{L})(\p{L}{3,10})\.?,? (\d{4}|\d{1,2})(?:st|nd|rd|th)?(?!\d|[:%]\d|[.,]\d)/gu;
const MAX_DAYS = 400;

/** The days that a text names: `2026-03-13`, `March 13`, `13. März`, `3月13日`, `13/03/2026`. */
export function daysIn(text: string): readonly Day[] {
  const days: Day[] = [];
  const add = (at: number, length: number, ...readings: (readonly [month: number, day: number])[]) => {
    const known = readings.flatMap(([month, day]) =>
      month >= 1 && month <= 12 && day >= 0 && day <= 31 ? [month * 100 + day] : [],
    );
    if (known.length > 0 && days.length < MAX_DAYS)
      days.push({ start: at, end: at + length, readings: known });
  };
  for (const match of text.matchAll(NUMERIC_DAY)) {
    const [whole, , isoMonth, isoDay, one, , other, , , month, day] = match;
    if (isoMonth !== undefined) add(match.index, whole.length, [Number(isoMonth), Number(isoDay)]);
    else if (one !== undefined)
      add(match.index, whole.length, [Number(one), Number(other)], [Number(other), Number(one)]);
    else add(match.index, whole.length, [Number(month), Number(day ?? 0)]);
  }
  if (!MAY_NAME_MONTH.test(text)) return days;
  // "1. January 15" is the first item of a list.
  for (const { 0: whole, 1: day, 2: name = '', index } of text.matchAll(DAY_OF_MONTH))
    if (
      findMonth(name) > 0 &&
      !/^\.?,? \d{1,2}(?![\d:])/.test(text.slice(index + whole.length, index + whole.length + 6))
    )
      add(index, whole.length, [findMonth(name), Number(day)]);
  for (const { 0: whole, 1: name = '', 2: day = '', index } of text.matchAll(MONTH_AND_DAY)) {
    if (findMonth(name) === 0 || days.some(({ start, end }) => start < index + name.length && index < end))
      continue;
    // "June 2025" is a month.
    add(index, whole.length, [findMonth(name), day.length > 2 ? 0 : Number(day)]);
  }
  return days;
}

/** `table_20251016`, and how Python prints a day: `date(2025, 10, 16)`. */
const IN_NAME = /(?<!\d)(20\d\d)([01]\d)([0-3]\d)(?!\d)|\bdate(?:time)?\((\d{4}), (\d{1,2}), (\d{1,2})/g;

/** The days of a result, and their months. */
export const knownDays = (text: string): ReadonlySet<number> =>
  new Set(
    daysIn(text.replace(IN_NAME, ' $1$4-$2$5-$3$6 ')).flatMap(({ readings }) =>
      readings.flatMap((day) => [day, day - (day % 100)]),
    ),
  );

/** A time of day in a text. */
export interface TimeOfDay {
  readonly start: number;
  readonly end: number;
  /** Minutes since midnight. */
  readonly minutes: number;
  /** It is known which half of the day is meant: "3:30 PM", "15:30", "09:00". */
  readonly isExact: boolean;
}

const AFTERNOON = /下午|晚上|中午|午後/;
const TIME =
  /(?<![\d:.,+/-])(\d{1,2})(?:([:.h])([0-5]\d)(?::[0-5]\d(?:\.\d{1,9})?)?)?(?!\d|[.,:]\d)\s?(?:([ap])\.?\s?m(?![a-z])|(uhr|o['’]clock)(?![a-zß]))?/g;
const TIME_IN_CJK =
  /(上午|下午|晚上|早上|凌晨|中午|午前|午後)?\s?(\d{1,2})\s?(?:点|點|時(?!間)|时(?!间))(?:([0-5]?\d)分|(半))?/g;
const SPANISH = /(?:a|de|desde|hasta) las? (\d{1,2})(?![\d:])/g;
const NOON = /(?<![a-z])(noon|midday|midnight|mittag|mitternacht|mediodía|medianoche|midi|minuit)(?![a-z])/g;
const MIDNIGHT = /^m(?:idn|itter|edian|inuit)/;
const MAX_TIMES = 600;

/** Times of day in a text in lower case: `15:30`, `3:30 pm`, `9 am`, `9.30 Uhr`, `下午3点`. */
export function timesIn(text: string): readonly TimeOfDay[] {
  const times: TimeOfDay[] = [];
  const add = (at: number, length: number, hour: number, minute: number, isExact: boolean) => {
    if (times.length < MAX_TIMES && hour <= 24)
      times.push({ start: at, end: at + length, minutes: (hour % 24) * 60 + minute, isExact });
  };
  for (const match of text.matchAll(TIME)) {
    const [whole, hours = '', sign, minutes, half, word] = match;
    if (half === undefined && word === undefined && sign !== ':') continue;
    const hour = Number(hours);
    if (half !== undefined && hour >= 1 && hour <= 12)
      add(match.index, whole.length, (hour % 12) + (half === 'p' ? 12 : 0), Number(minutes ?? 0), true);
    else add(match.index, whole.length, hour, Number(minutes ?? 0), hour > 12 || hours.startsWith('0'));
  }
  for (const match of text.matchAll(SPANISH)) add(match.index, match[0].length, Number(match[1]), 0, false);
  for (const { 0: word, index } of text.matchAll(NOON))
    add(index, word.length, MIDNIGHT.test(word) ? 0 : 12, 0, true);
  if (/[点點時时]/.test(text))
    for (const match of text.matchAll(TIME_IN_CJK)) {
      const [whole, half = '', hours, minutes = 0, isHalf] = match;
      const hour = Number(hours) + (AFTERNOON.test(half) && Number(hours) < 12 ? 12 : 0);
      const minute = isHalf === undefined ? Number(minutes) : 30;
      add(match.index, whole.length, hour, minute, half !== '' || hour > 12);
    }
  return times;
}
