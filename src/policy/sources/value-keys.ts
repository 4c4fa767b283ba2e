/** Numbers, days and times as keys that are equal when the values are, however the values are written. */
import { daysIn, type Figure, figuresIn, NUMBER_WORDS, timesIn } from '../../evidence/index.ts';

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

/** A number in words, and where it stands. */
interface WrittenNumber {
  readonly start: number;
  readonly end: number;
  readonly value: number;
}

/** Articles and the like, which are numbers only beside others; and what joins numbers. */
const NO_NUMBER_ALONE: ReadonlySet<string> = new Set(
  'one ein eine un una uno une um uma mil cent cents mille tre sei seis six'.split(' '),
);
const JOINING: ReadonlySet<string> = new Set(['and', 'und', 'y', 'et', 'e']);
const LONGEST = Math.max(...[...NUMBER_WORDS.keys()].map((word) => word.length));
const MAX_WORD = 60;

/** The parts of `zweihundertfünfundzwanzig`; undefined if it is no such word. */
function splitWord(word: string): readonly number[] | undefined {
  const whole = NUMBER_WORDS.get(word);
  if (whole !== undefined) return [whole];
  if (word.length > MAX_WORD) return undefined;
  const parts: number[] = [];
  for (let at = 0; at < word.length; ) {
    let taken = 0;
    for (let length = Math.min(LONGEST, word.length - at); length > 2 && taken === 0; length -= 1) {
      const value = NUMBER_WORDS.get(word.slice(at, at + length));
      if (value !== undefined) {
        parts.push(value);
        taken = length;
      }
    }
    if (taken === 0 && word.startsWith('und', at) && at > 0) taken = 3;
    if (taken === 0) return undefined;
    at += taken;
  }
  return parts;
}

/** What the parts of a number come to; undefined if they are no number. */
function addUp(parts: readonly number[]): number | undefined {
  let [total, current] = [0, 0];
  for (const [i, part] of parts.entries()) {
    const before = parts[i - 1];
    if (part >= 1_000) {
      total += Math.max(current, 1) * part;
      current = 0;
    } else if (part === 100) {
      if (current >= 100) return undefined;
      current = Math.max(current, 1) * 100;
    } else if (part === 20 && before === 4) current += 76;
    else {
      // "ten twenty" is two numbers; "drei und zwanzig" and "soixante-dix" are one.
      const isAdded =
        before === undefined ||
        before >= 100 ||
        (before >= 20 && part < 20) ||
        (before < 10 && part >= 20) ||
        // "dix-sept"
        (before === 10 && part >= 7 && part < 10);
      if (!isAdded) return undefined;
      current += part;
    }
  }
  return total + current;
}

const WORD = /\p{L}{2,60}/gu;
const MAX_NUMBERS = 400;

/** The numbers of a text in lower case that are written in words. */
function writtenNumbersIn(text: string): readonly WrittenNumber[] {
  const found: WrittenNumber[] = [];
  let run: { parts: number[]; words: number; first: string; start: number; end: number } | undefined;
  const close = (): void => {
    const value = run === undefined ? undefined : addUp(run.parts);
    const isAlone = run?.words === 1 && NO_NUMBER_ALONE.has(run.first);
    if (run !== undefined && value !== undefined && !isAlone)
      found.push({ start: run.start, end: run.end, value });
    run = undefined;
  };
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (found.length >= MAX_NUMBERS) break;
    const isNext =
      run !== undefined && /^[\s-]{1,2}$|^[\s-](?:and|und|y|et|e)[\s-]$/.test(text.slice(run.end, index));
    if (isNext && JOINING.has(word)) continue;
    const parts = splitWord(word);
    if (run !== undefined && !(isNext && parts !== undefined)) close();
    if (parts === undefined) continue;
    if (run === undefined) run = { parts: [], words: 0, first: word, start: index, end: index };
    run.parts.push(...parts);
    run.words += 1;
    run.end = index + word.length;
  }
  close();
  return /[一二三四五六七八九十百千万億亿两〇零]/.test(text) ? [...found, ...chineseNumbersIn(text)] : found;
}

const CHINESE = /[〇零一二两三四五六七八九十百千万萬億亿]{2,16}/g;
const DIGITS = '〇一二三四五六七八九';
const PLACES = '十百千';
const MYRIADS: Readonly<Record<string, number>> = { 万: 1e4, 萬: 1e4, 億: 1e8, 亿: 1e8 };

function chineseNumbersIn(text: string): readonly WrittenNumber[] {
  return [...text.matchAll(CHINESE)].slice(0, MAX_NUMBERS).map(({ 0: raw, index }) => {
    let [total, section, digit] = [0, 0, 0];
    for (const sign of raw) {
      const place = 10 ** (PLACES.indexOf(sign) + 1);
      const myriad = MYRIADS[sign];
      if (place > 1) [section, digit] = [section + Math.max(digit, 1) * place, 0];
      else if (myriad !== undefined) {
        total += Math.max(section + digit, 1) * myriad;
        [section, digit] = [0, 0];
      } else digit = DIGITS.indexOf(sign === '两' ? '二' : sign === '零' ? '〇' : sign);
    }
    return { start: index, end: index + raw.length, value: total + section + digit };
  });
}
