const DAYS = /(?<!\p{L})(?:days?|tagen?|tage|días?|jours?|dias?|giorni)(?!\p{L})/u;
const HOURS = /(?<!\p{L})(?:hours?|stunden?|horas?|heures?|ore|h)(?!\p{L})/u;
const YEARS = /(?<!\p{L})(?:years?|jahre?n?|años?|ans?|anos?|anni)(?!\p{L})/u;
const MONTHS = /(?<!\p{L})(?:months?|monate?n?|mes(?:es)?|mois|m[eê]s|mesi)(?!\p{L})/u;
const WEEKS = /(?<!\p{L})(?:weeks?|wochen?|semanas?|semaines?|settimane)(?!\p{L})/u;
const MINUTES = /(?<!\p{L})(?:min(?:ute)?n?s?|minutos?|minuti)(?!\p{L})/u;
/** Units of time, larger ones, and how often these hold them. */
const SPANS: readonly (readonly [unit: RegExp, larger: RegExp, factors: readonly number[]])[] = [
  [DAYS, WEEKS, [7]],
  [DAYS, MONTHS, [30, 31]],
  [DAYS, YEARS, [365]],
  [HOURS, DAYS, [24]],
  [MINUTES, HOURS, [60]],
  [MONTHS, YEARS, [12]],
  [WEEKS, MONTHS, [4]],
  [WEEKS, YEARS, [52]],
];

/** Lengths of time of the evidence in other units: "21 days" of "3 weeks". */
export class Spans {
  readonly #text: () => string;
  readonly #known: ReadonlySet<number>;
  readonly #spoken = new Map<RegExp, boolean>();

  constructor(text: () => string, known: ReadonlySet<number>) {
    this.#text = text;
    this.#known = known;
  }

  has(count: number, noun: string): boolean {
    return SPANS.some(
      ([unit, larger, factors]) =>
        (unit.test(noun) &&
          this.#isKnown(
            factors.map((factor) => count / factor),
            larger,
          )) ||
        (larger.test(noun) &&
          this.#isKnown(
            factors.map((factor) => count * factor),
            unit,
          )),
    );
  }

  #isKnown(counts: readonly number[], unit: RegExp): boolean {
    if (!counts.some((count) => this.#known.has(count))) return false;
    const isSpoken = this.#spoken.get(unit) ?? unit.test(this.#text());
    this.#spoken.set(unit, isSpoken);
    return isSpoken;
  }
}
