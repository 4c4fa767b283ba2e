/** Numbers, days and times as keys that are equal when the values are, however the values are written. */
import { daysIn, type Figure, figuresIn, timesIn } from '../../evidence/index.ts';
import { writtenNumbersIn } from './written-numbers.ts';

/** A value in a text. */
export interface KeyedValue {
  readonly start: number;
  readonly end: number;
  /** What it can be found by. Several where it can be read in several ways. */
  readonly keys: readonly string[];
  /** What it is looked for by: of a day with its year also the day without one. */
  readonly asked: readonly string[];
}

/** The values of a text: days first, then times, then numbers outside of these. */
export function keyedValuesIn(text: string): readonly KeyedValue[] {
  const values: KeyedValue[] = [];
  const isFree = (start: number, end: number) => values.every((one) => one.end <= start || end <= one.start);
  const add = (start: number, end: number, keys: readonly string[], asked = keys) => {
    if (isFree(start, end)) values.push({ start, end, keys, asked });
  };
  for (const { start, end, readings } of daysIn(text)) {
    const { year, to } = yearAround(text, start, end);
    const days = readings.map(String);
    const dated = days.map((day) => `d:${year}-${day}`);
    const undated = days.map((day) => `d:-${day}`);
    if (year === undefined) add(start, to, undated, [...undated, ...days.map((day) => `d:*${day}`)]);
    else add(start, to, [...dated, ...days.map((day) => `d:*${day}`)], [...dated, ...undated]);
  }
  const folded = text.toLowerCase();
  const lower = folded.length === text.length ? folded : text;
  for (const { start, end, minutes, isExact } of timesIn(blank(lower, values))) {
    const halves = isExact || minutes >= 720 ? [minutes] : [minutes, minutes + 720];
    add(
      start,
      end,
      halves.map((one) => `t:${one}`),
    );
  }
  for (const figure of figuresIn(blank(text, values))) {
    const keys = listReadings(figure);
    if (keys.length > 0) add(figure.start, figure.end, keys);
  }
  for (const { start, end, value } of writtenNumbersIn(lower)) add(start, end, [`n:${value}`]);
  return values;
}

/** The key of a number. */
export const numberKey = (value: number): string => `n:${Object.is(value, -0) ? 0 : value}`;

const MAX_EXACT_DIGITS = 15;

/** `1.250` is a number with three decimals, or with a separator. One that begins with a zero is a name. */
function listReadings({ raw, value, dimension }: Figure): readonly string[] {
  if (/^0\d/.test(raw) || raw.replace(/\D/g, '').length > MAX_EXACT_DIGITS) return [];
  const keys = [numberKey(value)];
  if (/^\d{1,3}\.\d{3}$/.test(raw)) keys.push(numberKey(Math.sign(value) * Number(raw.replace('.', ''))));
  if (dimension === 'percent') keys.push(numberKey(Number((value / 100).toPrecision(MAX_EXACT_DIGITS))));
  return keys;
}

/** The year of a day, in it or right behind it, and where the day with its year ends. */
function yearAround(text: string, start: number, end: number): { year: string | undefined; to: number } {
  const inside = /(?<!\d)\d{4}(?!\d)/.exec(text.slice(start, end))?.[0];
  if (inside !== undefined) return { year: inside, to: end };
  const short = /[./](\d\d)$/.exec(text.slice(start, end).replace(/^\d{1,2}[./]\d{1,2}$/, ''))?.[1];
  if (short !== undefined) return { year: `20${short}`, to: end };
  const behind = /^(?:st|nd|rd|th)?[,.]?\s(?:de |of )?(\d{4})(?![\d:])/.exec(text.slice(end, end + 14));
  return behind === null ? { year: undefined, to: end } : { year: behind[1], to: end + behind[0].length };
}

/** The text with blanks where values are, so that the parts of one are not read as others. */
function blank(text: string, values: readonly KeyedValue[]): string {
  let out = text;
  for (const { start, end } of values) out = out.slice(0, start) + ' '.repeat(end - start) + out.slice(end);
  return out;
}
