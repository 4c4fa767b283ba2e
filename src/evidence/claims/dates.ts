/** Beginnings of the names of months in English, German, Spanish, French and Portuguese. */
const MONTHS: readonly RegExp[] = [
  /^(?:jan|ene)/,
  /^(?:feb|fév|fev)/,
  /^(?:mar|mär)/,
  /^(?:apr|abr|avr)/,
  /^(?:may|mai)/,
  /^(?:jun|juin)/,
  /^(?:jul|juil)/,
  /^(?:aug|ago|aoû)/,
  /^(?:sep|set)/,
  /^(?:oct|okt|out)/,
  /^(?:nov)/,
  /^(?:dec|dez|dic|déc)/,
];
const DATE =
  /(?<!\d)\d{4}-(\d\d)-(\d\d)|(?<![a-zß-ÿ\d])([a-zß-ÿ]{3,10})\.? (\d{1,2})(?:st|nd|rd|th)?(?![\d:.]\d|\d)|(?<!\d)(\d{1,2})(?:st|nd|rd|th|\.)?(?: of| de)? ([a-zß-ÿ]{3,10})|(?<!\d)(\d{1,2})月(\d{1,2})日/gi;
const MAX_DATES = 200;

const monthOf = (name: string): number => {
  const lower = name.toLowerCase();
  return MONTHS.findIndex((month) => month.test(lower)) + 1;
};

/** Days of the year in a text, as month * 100 + day: `2026-03-13`, `March 13`, `13. März`, `3月13日`. */
export function datesIn(text: string): ReadonlySet<number> {
  const dates = new Set<number>();
  for (const match of text.matchAll(DATE)) {
    if (dates.size >= MAX_DATES) break;
    const [, isoMonth, isoDay, before, after, day, name, month, cjkDay] = match;
    const number =
      before !== undefined ? monthOf(before) : name !== undefined ? monthOf(name) : Number(isoMonth ?? month);
    const date = Number(isoDay ?? after ?? day ?? cjkDay);
    if (number >= 1 && number <= 12 && date >= 1 && date <= 31) dates.add(number * 100 + date);
  }
  return dates;
}
