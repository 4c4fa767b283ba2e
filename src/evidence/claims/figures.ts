/** A number in a text, with what it counts or measures. */
export interface Figure {
  readonly start: number;
  readonly end: number;
  readonly value: number;
  /** The number without its scale: 1.28 of "1.28 million". */
  readonly plain: number;
  /** How far a number may be off that this one rounds. */
  readonly tolerance: number;
  /** As written, without sign and unit. */
  readonly raw: string;
  readonly isMoney: boolean;
  readonly isTemperature: boolean;
  readonly isPercent: boolean;
  /** The noun that follows, in lower case. */
  readonly noun?: string;
}

const FIGURE =
  /(?<![A-Za-z\u00C0-\u024F0-9#_-])(?<!\d[.,])([$€£¥]|R\$\s?|US\$|EUR\s|USD\s)?\s?([-−–]\s?)?(\d{1,3}(?:[,.\u00A0\u202F'’ ]\d{3}){1,5}(?:[.,]\d{1,2})?(?!\d)|\d{1,15}(?:[.,]\d{1,17})?)\s?(%|°\s?[CF]?|[CF](?![\p{L}\p{N}])|€|円|度|元|美元|ドル|dollars?|dólares|euros?|percent|prozent|degrees)?(?!\p{N})/giu;
const MONEY = /€|円|元|ドル|dollar|dólar|euro/i;
const TEMPERATURE = /°|^[cf]$|度|degrees/i;
const PERCENT = /%|percent|prozent/i;
const NOUN = /^[\s-]{0,3}(?:[^\s\d.,;:!?()]{1,20}\s){0,2}?([^\s\d.,;:!?()"'*-]{3,30})/;
const MAX_FIGURES = 64;

const READ = new WeakMap<object, readonly Figure[]>();

/** The numbers of a sentence, read once. */
export function figuresOf(sentence: { readonly text: string }): readonly Figure[] {
  const known = READ.get(sentence);
  if (known !== undefined) return known;
  const figures = /\d/.test(sentence.text) ? figuresIn(sentence.text) : [];
  READ.set(sentence, figures);
  return figures;
}

function figuresIn(text: string): readonly Figure[] {
  const figures: Figure[] = [];
  for (const match of text.matchAll(FIGURE)) {
    if (figures.length >= MAX_FIGURES) break;
    const [whole, currency, sign, raw = '', unit = ''] = match;
    if (match.index < (figures.at(-1)?.end ?? 0)) continue;
    const plain = numberOf(raw);
    if (!Number.isFinite(plain)) continue;
    const { scale, length, rest } = scaleAfter(text, match.index + whole.length);
    const value = plain * scale + rest;
    const end = match.index + whole.length + length;
    const isRange = /\d\s*$/.test(text.slice(Math.max(0, match.index - 2), match.index));
    const noun = NOUN.exec(text.slice(end, end + 60))?.[1]?.toLowerCase();
    figures.push({
      start: match.index,
      end,
      value: isMinus(sign, unit) && !isRange ? -value : value,
      plain,
      raw,
      tolerance: scale > 1 ? 0.51 * scale * 10 ** -decimalsOf(raw) : /[.,]\d$/.test(raw) ? 0.051 : 0.0051,
      isMoney: currency !== undefined || MONEY.test(unit) || /^\s?[元円]/.test(text.slice(end, end + 2)),
      isTemperature: TEMPERATURE.test(unit),
      isPercent: PERCENT.test(unit),
      ...(noun !== undefined && { noun }),
    });
  }
  return figures;
}

const SCALES: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  tausend: 1e3,
  mil: 1e3,
  千: 1e3,
  万: 1e4,
  萬: 1e4,
  m: 1e6,
  mio: 1e6,
  mn: 1e6,
  million: 1e6,
  millionen: 1e6,
  millones: 1e6,
  百万: 1e6,
  亿: 1e8,
  億: 1e8,
  b: 1e9,
  bn: 1e9,
  billions: 1e9,
  millions: 1e6,
  billion: 1e9,
};
const SCALE =
  /^\s?(thousand|tausend|mil(?!l)|k|mio\.?|mn|millionen|millones|million|m|bn|billions?|millions?|b)(?![\p{L}\p{N}])|^(百万|千|万|萬|亿|億)(\d{1,4})?/iu;
const SCALE_STARTS: ReadonlySet<number> = new Set(
  [...'tTmMbBkK百千万萬亿億\u00A0\t\n'].map((letter) => letter.charCodeAt(0)),
);
/** "1.28 million", "45万2000": by what the number counts, and what is added to it. */
export function scaleAfter(text: string, end: number): { scale: number; length: number; rest: number } {
  const next = text.charCodeAt(end) === 32 ? end + 1 : end;
  const isWord = SCALE_STARTS.has(text.charCodeAt(next));
  const match = isWord ? SCALE.exec(text.slice(end, end + 14)) : null;
  const word = (match?.[1] ?? match?.[2])?.toLowerCase().replace('.', '');
  const scale = word === undefined ? undefined : SCALES[word];
  // "5 m" is a length, "5M" and "$5m" are millions.
  if (match === null || scale === undefined || (/^[mb]$/.test(word ?? '') && !/^[MB]$/.test(match[0])))
    return { scale: 1, length: 0, rest: 0 };
  return { scale, length: match[0].length, rest: Number(match[3] ?? 0) };
}

/** A dash before a space is punctuation: "Bergmann – 184,220.55"; but "- 5 °C" is said of a temperature. */
const isMinus = (sign: string | undefined, unit: string): boolean =>
  sign !== undefined && (sign.length === 1 || TEMPERATURE.test(unit));

const decimalsOf = (raw: string): number => /[.,](\d{1,2})$/.exec(raw)?.[1]?.length ?? 0;

const PLAIN = /^\d+(?:\.\d{1,2})?$/;

/** Reads `1,287.50`, `1.287,50`, `1 287` and `1287.5`. A single separator before three digits groups thousands if it is a comma. */
export function numberOf(raw: string): number {
  if (PLAIN.test(raw)) return Number(raw);
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

/** Number words of English, German and Spanish up to twelve, but for those that are other words in English. */
export const NUMBER_WORDS: ReadonlyMap<string, number> = new Map(
  [
    'one two three four five six seven eight nine ten eleven twelve',
    'eins zwei drei vier fünf sechs sieben acht neun zehn - zwölf',
    'uno dos tres cuatro cinco seis siete ocho nueve diez - doce',
  ].flatMap((words) => words.split(' ').map((word, i) => [word, i + 1] as const)),
);

/** Inches, miles, pounds, feet, gallons and ounces in metric units. */
const CONVERSIONS = [2.54, 1.609, 0.4536, 0.3048, 3.785, 28.35];

/** Whether two numbers may be the same measure in other units. */
export const converts = (left: number, right: number): boolean =>
  CONVERSIONS.some(
    (factor) =>
      Math.abs(left * factor - right) <= 0.011 * right || Math.abs(right * factor - left) <= 0.011 * left,
  );

const NUMBER = /-?\d{1,15}(?:[.,]\d{1,15}){0,5}/g;
/** `1,287.50` and `1.287,50`, but not `212,184220.55`. */
const GROUPED = /^-?(?:\d{1,3}(?:,\d{3}){1,5}(?:\.\d+)?|\d{1,3}(?:\.\d{3}){0,5},\d{1,2}|\d+,\d{1,2})$/;

/** The numbers of a text without what they count: of a result, in the order in which they stand. */
export function numbersIn(text: string, limit: number): number[] {
  const numbers: number[] = [];
  for (const match of text.matchAll(NUMBER)) {
    if (numbers.length >= limit) break;
    const isSigned = match[0].startsWith('-');
    const value = numberOf(isSigned ? match[0].slice(1) : match[0]);
    const isNegative = isSigned && !/[\p{L}\p{N}]/u.test(text[match.index - 1] ?? ' ');
    if (Number.isFinite(value)) numbers.push(isNegative ? -value : value);
    // A row of a table: `Atelier Nord,98,121004.1`.
    if (match[0].includes(',') && (text[match.index - 1] === ',' || !GROUPED.test(match[0])))
      numbers.push(...match[0].split(',').map(Number).filter(Number.isFinite));
    if (!Number.isFinite(value)) continue;
    const { scale, rest } = scaleAfter(text, match.index + match[0].length);
    if (scale > 1) numbers.push(value * scale + rest);
  }
  return numbers;
}
