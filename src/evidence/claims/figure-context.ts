import type { Figure } from './figures.ts';

/** What the words around a figure make of it. */
export const TIME_UNIT =
  /^(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|business|working|times?|tage?n?|stunden?|minuten|wochen?|monate?n?|jahre?n?|días?|horas?|minutos|semanas?|meses|años?|jours?|heures?|dias|anos|o'clock|uhr|am|pm)(?![a-zß-ÿ])/i;

/** The marker of a list, a part of a range, of a time or of a name ("401(k)"). */
export function isMarkerOrTime(
  text: string,
  { start, end, raw, isMoney }: Pick<Figure, 'start' | 'end' | 'raw' | 'isMoney'>,
): boolean {
  const before = text.slice(Math.max(0, start - 8), start);
  const after = text.slice(end, end + 6);
  if (/^\([a-z]\)/.test(after)) return true;
  if (!isMoney && DAY_AND_MONTH.test(raw) && after.startsWith('.')) return true;
  if (start <= 2 && text.slice(0, start).trim() === '' && /^[.)]/.test(after)) return true;
  const isRange = /\d\s?(?:-|–|to|bis|a|à)\s?$/.test(before) || /^\s?(?:-|–|to)\s?\d/.test(after);
  return (isRange && !isMoney) || /^:\d/.test(after) || /\d:$/.test(before);
}

/** "19.06.", a day as German has it. */
const DAY_AND_MONTH = /^(?:0?[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])$/;

/** "within 24 hours": not how long something is. */
export const isSpan = (text: string, start: number, noun: string): boolean =>
  TIME_UNIT.test(noun) &&
  /(?:hours?|stunden?|horas?|heures?|and|und|within|in|after|next|last|past|every|to|about|innerhalb|nach|dentro de|en|dans)\s$/i.test(
    text
      .slice(Math.max(0, start - 12), start)
      .trimEnd()
      .concat(' '),
  );

/** "about 310" of 312, "about 76" of 75.85: off by half of its last digit that is not 0. */
export function rounded(text: string, figure: Figure): Figure {
  if (!ABOUT.test(text.slice(Math.max(0, figure.start - 24), figure.start))) return figure;
  const digits = figure.raw.replace(GROUPING, '');
  const zeros = /[1-9](0{1,6})$/.exec(digits)?.[1]?.length ?? 0;
  if (zeros === 0 && !/^\d{2,}$/.test(digits)) return figure;
  return { ...figure, tolerance: Math.max(figure.tolerance, HALF * 10 ** zeros) };
}
/** What rounding to a whole number takes away or adds at most, halves up. */
export const HALF = 0.5001;
const GROUPING = /[\s\u00A0\u202F,.'’](?=\d{3}(?!\d))/g;
const ABOUT =
  /(?:about|around|roughly|approximately|approx\.|some|nearly|almost|etwa|ungefähr|rund|knapp|unos|unas|casi|aproximadamente|environ|presque|cerca de|circa|ca\.|gut|etwas (?:über|unter)|a bit (?:over|under)|just (?:over|under)|[約约≈~]|大约)\s{0,3}[$€£¥]?$/iu;

/** "in the top 8 %" */
export const isTop = (text: string, { start, isPercent }: Figure): boolean =>
  isPercent && /\btop\s$/i.test(`${text.slice(Math.max(0, start - 5), start).trimEnd()} `);

/** "over $2,700", "$2,700+": a round number that others pass. */
export const isBound = (text: string, { start, end, value }: Figure): boolean =>
  value % 10 === 0 &&
  (/^.?\s?\+/.test(text.slice(end - 1, end + 2)) ||
    /(?:over|than|above|under|below|up to|at least|at most|within|über|unter|mindestens|höchstens|más de|menos de)\s[$€£¥]?$/i.test(
      text
        .slice(Math.max(0, start - 14), start)
        .trimEnd()
        .concat(' '),
    ));

const MAX_PARTS = 12;
/** "11,200 | 9,520 | -15 %": the change or the share of two others beside it. */
export const isShareOf = (figure: Figure, beside: readonly Figure[]): boolean => {
  if (!figure.isPercent || beside.length > MAX_PARTS) return false;
  const share = Math.abs(figure.value);
  const off = Number.isInteger(figure.value) ? 0.51 : 0.06;
  const values = beside.flatMap((one) => (one.isPercent || one.value <= 0 ? [] : [one.value]));
  return values.some((part) =>
    values.some(
      (whole) =>
        part !== whole &&
        (Math.abs((Math.abs(part - whole) / whole) * 100 - share) <= off ||
          Math.abs((part / whole) * 100 - share) <= off),
    ),
  );
};
