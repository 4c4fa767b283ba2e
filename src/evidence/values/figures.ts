/** Numbers in texts, with what they measure, as values that can be compared. */
import { Phrases, type PhrasesByLanguage, readPassage } from '../phrases/index.ts';
import { type Dimension, SCALES, UNITS } from './units.ts';

/** A number in a text. */
export interface Figure {
  readonly start: number;
  readonly end: number;
  readonly value: number;
  /** The number without its scale: 1.28 of "1.28 million". */
  readonly plain: number;
  /** How far a number may be off that this one rounds: half of its last digit. */
  readonly tolerance: number;
  /** As written, without sign and unit. */
  readonly raw: string;
  readonly dimension: Dimension;
  /** In the base unit of its dimension: meters, grams, seconds, bytes. */
  readonly factor: number;
  /** Of a ratio, what it is out of: 10 of "9/10". */
  readonly whole: string | undefined;
  /** An end of a span: "15-20". */
  readonly isSpan: boolean;
  /** Rounded, as the words before it say: "about", "over". */
  readonly isAbout: boolean;
  /** The words that follow, in lower case. */
  readonly after: readonly string[];
}

const NUMBER =
  /(?<![A-Za-zÀ-ɏ\p{N}_#/\\.]|[^\d\s%$€£¥(*|:~≈]-)([$€£¥]|R\$|US\$|USD|EUR)?\s?([-−+]?)(\d{1,3}(?:[,.'’\u00A0\u202F ]\d{3}){1,5}(?:[.,]\d{1,8})?(?![\d])|\d{1,18}(?:[.,]\d{1,18})?)(?!\d|\.\d)/gu;
const SCALE =
  /^[\s-]?(thousand|tausend|mille|mil(?!l)|k|mio\.?|mn|mrd\.?|milliarden|milliards|millionen|millones|milhões|millions?|m|bn|billionen|billions?|b|tn|trillions?|t)(?![\p{L}\p{N}])|^(百万|千|万|萬|亿|億|兆)(\d{1,4})?/iu;
const UNIT =
  /^[\s-]?(°\s?[CF]?|[%％℃$€£¥円元度米天年克]|美元|ドル|公里|毫升|分钟|小时|時間|[\p{Script=Latin}]{1,11})/iu;
const SPAN = /^\s?[-–~～]\s?$/;
const MAX_FIGURES = 96;
const MAX_AFTER = 60;

const ABOUT = new Phrases({
  en: 'about, around, roughly, approximately, approx, some, nearly, almost, over, under, more than, less than, at least, at most, up to, above, below, exceeding, exceeds, exceed, just, circa',
  de: 'etwa, ungefähr, rund, knapp, über, unter, mindestens, höchstens, ca',
  es: 'unos, unas, casi, aproximadamente, más de, menos de',
  fr: 'environ, presque, plus de, moins de',
  pt: 'cerca de, quase, mais de, menos de',
  ja: '約',
  zh: '约, 大约, 近',
} satisfies PhrasesByLanguage);

/** The numbers of a text, no digits inside a name, a path, a version or a decade; `isAbout` and `after` only with words. */
export function figuresIn(text: string, most = MAX_FIGURES, hasWords = true): readonly Figure[] {
  if (!/\d/.test(text)) return [];
  const figures: Figure[] = [];
  let scaled = 0;
  for (const match of text.matchAll(NUMBER)) {
    if (figures.length >= most) break;
    // The rest of "45万2000".
    if (match.index < scaled) continue;
    const [whole, currency, sign, raw = ''] = match;
    const bare = toNumber(raw);
    if (!Number.isFinite(bare)) continue;
    let end = match.index + whole.length;
    const { scale, length, rest } = scaleAfter(text, end, currency !== undefined);
    end += length;
    scaled = end;
    const unit = UNIT.exec(text.slice(end, end + 14));
    const word = unit?.[1]?.toLowerCase().replace(/\s/g, '');
    const behind = end + (unit?.[0].length ?? 0);
    const after = text.slice(behind, behind + 6);
    // "19 km/h", "149 in total"
    const perTime = /^\/(?:h|s)(?![\p{L}\p{N}])/u.exec(after)?.[0] ?? '';
    const known =
      word === undefined || (word === 'in' && /^\s?\p{L}/u.test(after))
        ? undefined
        : UNITS.get(`${word}${perTime}`);
    const wholeOf = /^\s?\/\s?(5|10|20|100)(?![\d/])/.exec(text.slice(end, end + 7))?.[1];
    const [dimension, factor] =
      currency !== undefined
        ? (['money', 1] as const)
        : (known ?? ([wholeOf === undefined ? 'none' : 'ratio', 1] as const));
    // "$20-25", "15–20 minutes": both ends have the unit of one.
    const first = figures.at(-1);
    const isSpan = first !== undefined && SPAN.test(text.slice(first.end, match.index));
    const isEnd = isSpan && first.dimension === 'money' && dimension === 'none';
    if (isSpan)
      figures[figures.length - 1] = {
        ...first,
        isSpan,
        ...(first.dimension === 'none' && dimension !== 'ratio' && { dimension, factor }),
      };
    const unitText = unit?.[0] ?? '';
    if (unitText === 's' && /^(?:1[5-9]|20)\d0$/.test(raw)) continue; // "The 1980s"
    if (dimension === 'temperature' && /^\s[cf]$/i.test(unitText)) continue;
    const before = text.slice(Math.max(0, match.index - 24), match.index);
    const isNegative = (sign === '-' || sign === '−') && !/[\d%\p{L})]\s?$/u.test(before);
    const decimals = /[.,](\d+)$/.exec(GROUPED.test(raw) ? '' : raw)?.[1]?.length ?? 0;
    figures.push({
      start: match.index + (whole.length - whole.trimStart().length),
      end: known === undefined ? end : end + unitText.length,
      value: (isNegative ? -1 : 1) * (bare * scale + rest),
      plain: bare,
      tolerance: 0.5001 * scale * 10 ** -decimals,
      raw,
      dimension: isEnd ? 'money' : dimension,
      factor,
      whole: wholeOf,
      isSpan,
      isAbout: hasWords && (isRounded(before, text.slice(end, end + 2)) || (isSpan && first.isAbout)),
      after: hasWords ? wordsAfter(text.slice(end, end + MAX_AFTER)) : [],
    });
  }
  return figures;
}

const isRounded = (before: string, after: string): boolean =>
  /[~≈≥≤<>+约約]\s?[$€£¥]?$/.test(before) ||
  /^\s?\+/.test(after) ||
  ABOUT.has(readPassage(before.split(/[.,;:(]/).at(-1) ?? ''));

const wordsAfter = (text: string): readonly string[] =>
  (/^[^.,;:()|–—]*/.exec(text.toLowerCase())?.[0].match(/\p{L}[\p{L}'-]{1,29}/gu) ?? []).slice(0, 3);

const GROUPED = /^\d{1,3}(?:,\d{3})+$/;

/** "1.28 million", "45万2000": by what the number counts, and what is added to it. */
function scaleAfter(text: string, end: number, isMoney: boolean) {
  const match = SCALE.exec(text.slice(end, end + 14));
  const word = (match?.[1] ?? match?.[2])?.toLowerCase().replace('.', '');
  const scale = word === undefined ? undefined : SCALES.get(word);
  // "5 m" is a length and "5 t" a mass; "5M" and "$5m" are millions.
  const isLetter = word !== undefined && /^[kmbt]$/.test(word);
  if (
    match === null ||
    scale === undefined ||
    (isLetter && !/^[KMBT]$/.test(match[0]) && !(isMoney && match[0].length === 1) && match[0] !== 'k')
  )
    return { scale: 1, length: 0, rest: 0 };
  return { scale, length: match[0].length, rest: Number(match[3] ?? 0) };
}

/** Reads `1,287.50`, `1.287,50`, `1 287` and `1287.5`. A single separator before three digits groups thousands if it is a comma. */
export function toNumber(raw: string): number {
  if (/^\d+(?:\.\d{1,2})?$/.test(raw)) return Number(raw);
  let text = raw.replace(/[\s\u00A0\u202F'’]/g, '');
  const comma = text.lastIndexOf(',');
  const point = text.lastIndexOf('.');
  if (comma >= 0 && point >= 0)
    text = comma > point ? text.replaceAll('.', '').replace(',', '.') : text.replaceAll(',', '');
  else if (comma >= 0)
    text = /^\d{1,3}(?:,\d{3}){1,5}$/.test(text) ? text.replaceAll(',', '') : text.replace(',', '.');
  else if (/^\d{1,3}(?:\.\d{3}){2,5}$/.test(text)) text = text.replaceAll('.', '');
  return Number(text);
}

/** The keys under which a measure stands without a unit, and the units that it may then have. */
const KEYED = {
  time: {
    key: keyedAs('duration|minutes|mins|seconds|secs|hours|days|weeks|months|years|time|eta'),
    sizes: [1, 60, 3600],
  },
  percent: { key: keyedAs('percent|pct|rate|ratio|share|score|change|humidity|prob'), sizes: [1, 100] },
  data: { key: keyedAs('size|bytes|kb|mb|gb|length|memory|disk'), sizes: [1, 1e3, 1e6, 1024, 1_048_576] },
};
export type Measure = keyof typeof KEYED;
export const isMeasure = (dimension: Dimension): dimension is Measure => Object.hasOwn(KEYED, dimension);

/** `"size": 12`, `'avg_days': Decimal('12.5')`, `size: 12`; the quotes of JSON inside JSON are escaped. */
function keyedAs(words: string): RegExp {
  const key = `(?<![a-z_])([a-z_]{0,24}(?:${words})[a-z_]{0,12})`;
  return new RegExp(
    `${key}["'\\\\]{0,4}:\\s{0,4}(?:decimal\\()?["'\\\\]{0,4}-?(\\d{1,15}(?:\\.\\d{1,9})?)`,
    'g',
  );
}

/** The numbers of a text in lower case under such keys, in each unit that they may have. */
export function measuresIn(text: string, measure: Measure): readonly number[] {
  const { key: pattern, sizes } = KEYED[measure];
  return [...text.matchAll(pattern)].flatMap(([, key = '', number]) => {
    // `avg_tenure_days` says its unit.
    const [of, own] = UNITS.get(key.slice(key.lastIndexOf('_') + 1)) ?? [];
    return (of === measure && own !== undefined ? [own] : sizes).map((size) => Number(number) * size);
  });
}

const PLAIN_NUMBER = /-?\d{1,18}(?:[.,]\d{1,18}){0,6}/g;

/** The numbers of a text without what they count, digits of names among them: of a result. */
export function numbersIn(text: string, limit: number): number[] {
  const numbers: number[] = [];
  for (const match of text.matchAll(PLAIN_NUMBER)) {
    if (numbers.length >= limit) break;
    const [raw] = match;
    const isSigned = raw.startsWith('-');
    const value = toNumber(isSigned ? raw.slice(1) : raw);
    const isNegative = isSigned && !/[\p{L}\p{N}]/u.test(text[match.index - 1] ?? ' ');
    if (Number.isFinite(value)) numbers.push(isNegative ? -value : value);
    // A row of a table: `Atelier Nord,98,121004.1`; a version: `3.14.2`.
    if (/,|[.].*[.]/.test(raw))
      for (const part of raw.split(raw.includes(',') ? ',' : '.')) {
        const number = Number(part);
        if (Number.isFinite(number)) numbers.push(number);
      }
  }
  return numbers;
}
