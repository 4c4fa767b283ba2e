import { NUMBER_WORDS } from './figures.ts';
import { isConditional, isPlan } from './sentences.ts';
import { type TimeOfDay, timesIn } from './times.ts';
import type { ReadStep, Sentence } from './types.ts';

/** A point of time as the key of a record or the moment of a log has it: with a time zone an answer may give it in another one. */
const ZONED =
  /\d:\d\d(?::\d\d(?:\.\d{1,9})?)?\s?(?:z(?![a-z])|[+-]\d\d:?\d\d)|(?:[ap]\.?m\.?|\d:\d\d)\s?[ecmp]t(?![a-z/])|(?<![a-z])(?:utc|gmt|[ecmp][sd]t|cest|cet|bst|ist|jst|aest|eastern|pacific|central|mountain|time ?zone|zeitzone|ortszeit|local time|your time|hora local)(?![a-z])|时区|時区|現地時間|当地时间/;
/** Seconds since 1970, which an answer tells as a time. */
const EPOCH = /(?<!\d)1[5-9]\d{8}(?:\d{3})?(?!\d)/;
/** Times of what is open or happens by rule, which an answer may know without a call, or that it computes. */
const BY_RULE =
  /(?<![a-zß-ÿ])(?:open(?:s|ed)?|opening hours|clos(?:e|es|ed|ing)|(?:business|office|working) hours|check-?(?:in|out)s? (?:is|opens?|begins?|starts?|time)|curfew|deadline|cut-?off|daily|every|weekdays?|typically|usually|normally|generally|e\.g|example|free|available between|busy|gaps?|ratio|score[ds]?|verse|lasts?|took|takes|duration|runtime|video|track|leave|set out|head out|wake|aim|suggest|recommend|geöffnet|schließt|öffnet|frei|täglich|abre|cierra|libre)(?![a-zß-ÿ])|每天|毎日|营业|営業|空いて/;
/** What stands before a time that is no point of time of the thing. */
const BOUND =
  /(?<![a-zß-ÿ])(?:until|till|before|after|by|than|between|about|around|roughly|approximately|vor|nach|bis|gegen|zwischen|antes de|después de|hasta|entre)\s(?:the\s|las?\s)?(?:\d{1,2}(?::\d\d)?\s?(?:[ap]\.?m\.?)?\s?(?:and|to|und|bis|y|a|-|–)\s)?$|[约約]$/;
const AFTER_BOUND =
  /^\s?(?:まで|以前|以后|以後|之前|之后|左右|頃|or (?:later|earlier|after|before)|at the latest)/;
const SPAN =
  /(?<![\d.,:])(\d{1,3})(?:\.5)?[\s-]?(?:min(?:ute)?n?s?|hours?|hrs?|h|stunden?|minuten|horas?|minutos|heures?|分钟|分間|小时|時間)(?![a-zß-ÿ])|(?:dur|min|hour|length|offset|buffer|delay|travel)[a-z_]{0,12}"?\s?[:=]\s?"?(\d{1,3})(?!\d)|(?<![a-z])(an?|half an?|one|two|three|four|five|six|ten|fifteen|twenty|thirty|forty-five) (hour|minute)/g;
const WORDS: Readonly<Record<string, number>> = { fifteen: 15, twenty: 20, thirty: 30, 'forty-five': 45 };
const MAX_SPANS = 24;
const MAX_CHECKED = 48;
const HALF_HOUR = 30;
const HALF_DAY = 720;
const DAY = 1440;
/** Of more times one is near any other. Of more text a part may be missing: then a time is wrong only if it is odd. */
const MAX_KNOWN = 120;
const MAX_WHOLE_CHARS = 24_576;
const GRID = 5;
const MIN_GRID = 8;
const MAX_STEP_CHARS = 16_384;

const FREE =
  /(?<![a-z])(?:free|available|availability|open|opening|slot|gap|works?|fits?|conflicts?|libre|disponible|frei|verfügbar)(?![a-z])|可以|空/;
const TAKEN =
  /busy|booked|events?"|conflict|meetings?"|\d:\d\d"?\s?(?:-|–|to|bis|,)\s?"?\d{1,2}:\d\d|"(?:from|open|opens|von)":/i;
/** What is said of the thing that a call made or changed. */
const ARRANGED =
  /(?<![a-zß-ÿ])(?:booked|confirmed|(?:re)?scheduled|reserved|moved|changed|updated|all set|set (?:for|to|up)|gebucht|bestätigt|verschoben|reserviert|(?:confirm|reserv|program)ad[oa]s?|réservée?|confirmée?|déplacée?)(?![a-zß-ÿ])|预订|预约|預約|予約|確認|確定/;
const EARLIER =
  /(?<![a-zß-ÿ])(?:previous|previously|original|originally|existing|old|other|another|from|instead|was|were|already|reminder|bisher|ursprünglich|von|anterior|desde)(?![a-zß-ÿ])|原|もともと/;
/** Moments of the record itself. */
const RECORDED =
  /"(?:creat|updat|modif|sent|logg|timestamp|issued|request|now|ts|server_time)[a-z_]{0,20}":"[^"]{0,40}"/g;
const MAX_ARRANGED = 6;

/** Minutes of the day; of times of which it is not known which half of the day is meant, minutes of a half. */
interface Reach {
  readonly days: ReadonlySet<number>;
  readonly halves: ReadonlySet<number>;
  /** All of them by halves of a day. */
  readonly either: ReadonlySet<number>;
}

/** The times of day of calls and user. */
export class Clock {
  readonly #text: string;
  readonly #prompt: string;
  readonly #steps: readonly ReadStep[];
  /** The answer in lower case. */
  readonly #answer: string;
  #known: readonly TimeOfDay[] | undefined;
  #arranged: readonly TimeOfDay[] | undefined;
  #reach: Reach = { days: new Set(), halves: new Set(), either: new Set() };
  #spans: readonly number[] = [];
  #isZoned = false;
  #isWhole = false;
  /** There are many times, of full five minutes. */
  #isOnGrid = false;
  #off = 0;
  #left = MAX_CHECKED;

  /** `text` is that of all results and arguments. */
  constructor(text: string, prompt: string, steps: readonly ReadStep[], sentences: readonly Sentence[]) {
    this.#text = text;
    this.#prompt = prompt;
    this.#steps = steps;
    this.#answer = sentences
      .slice(0, MAX_SPANS)
      .map(({ lower }) => lower)
      .join('\n');
  }

  /**
   * A time that no result, no argument and no word of the user gives, nor one of them and a span of time between; or one
   * of what was arranged that the calls which arranged it do not give.
   */
  contradicts(sentence: Sentence): boolean {
    const { lower } = sentence;
    if (sentence.isQuestion || !HAS_TIME.test(lower) || BY_RULE.test(lower) || isConditional(sentence))
      return false;
    const said = timesIn(lower).filter(
      ({ start, end }) =>
        !BOUND.test(lower.slice(Math.max(0, start - 40), start)) &&
        !AFTER_BOUND.test(lower.slice(end, end + 16)),
    );
    const [first] = said;
    if (first === undefined) return false;
    // What is free is computed from what is taken, or from spans.
    if (FREE.test(lower) && TAKEN.test(this.#text)) return false;
    const known = this.#times();
    if (known.length === 0 || known.length > MAX_KNOWN) return false;
    const isWrong = said.some(
      (time) =>
        this.#left-- > 0 &&
        !this.#gives(time, this.#reach) &&
        (this.#isWhole || Number.isNaN(time.minutes) || (time.minutes % GRID !== 0 && this.#isOnGrid)),
    );
    if (isWrong) return true;
    if (said.length > 1 || !ARRANGED.test(lower) || EARLIER.test(lower) || isPlan(sentence)) return false;
    this.#arranged ??= this.#timesOfWrites();
    const { length } = this.#arranged;
    return length > 0 && length <= MAX_ARRANGED && !this.#gives(first, this.#reachOf(this.#arranged));
  }

  #gives({ minutes, isExact }: TimeOfDay, { days, halves, either }: Reach): boolean {
    if (Number.isNaN(minutes)) return false;
    if (isExact ? days.has(minutes) || halves.has(minutes % HALF_DAY) : either.has(minutes % HALF_DAY))
      return true;
    return this.#isZoned && [...either].some((one) => (one - minutes) % HALF_HOUR === 0);
  }

  /** Times, and those with a span of time between. */
  #reachOf(known: readonly TimeOfDay[]): Reach {
    const reach = { days: new Set<number>(), halves: new Set<number>(), either: new Set<number>() };
    const offs = this.#off > 0 ? [-this.#off, 0, this.#off] : [0];
    const steps = [...offs, ...this.#spans.flatMap((span) => [span, -span])];
    for (const { minutes, isExact } of known) {
      if (Number.isNaN(minutes)) continue;
      for (const step of steps) {
        const at = (((minutes + step) % DAY) + DAY) % DAY;
        if (isExact) reach.days.add(at);
        else reach.halves.add(at % HALF_DAY);
        reach.either.add(at % HALF_DAY);
      }
    }
    return reach;
  }

  #times(): readonly TimeOfDay[] {
    if (this.#known === undefined) {
      const text = this.#text.toLowerCase();
      const of = differentIn(text);
      this.#isWhole =
        text.length < MAX_WHOLE_CHARS && this.#steps.every((step) => step.text.length < MAX_STEP_CHARS);
      this.#isOnGrid = of.length >= MIN_GRID && of.every(({ minutes }) => minutes % GRID === 0);
      const prompt = this.#prompt.toLowerCase();
      // Without a time among the results and arguments they say nothing of times.
      this.#known = of.length === 0 || EPOCH.test(text) ? [] : [...of, ...differentIn(prompt)];
      this.#isZoned = ZONED.test(text) || ZONED.test(prompt) || ZONED.test(this.#answer);
      this.#off = /\d:\d\d:(?!00)\d\d/.test(text) ? 1 : 0;
      this.#spans = spansIn(`${text}\n${prompt}\n${this.#answer}`);
      this.#reach = this.#reachOf(this.#known.slice(0, MAX_KNOWN));
    }
    return this.#known;
  }

  #timesOfWrites(): readonly TimeOfDay[] {
    const texts = this.#steps.flatMap((step) =>
      step.isRead || step.isBad ? [] : [step.argumentsText, step.text],
    );
    return differentIn(texts.join('\n').toLowerCase().replace(RECORDED, ''));
  }
}

const differentIn = (text: string): readonly TimeOfDay[] => [
  ...new Map(timesIn(text).map((time) => [`${time.minutes}${time.isExact}`, time])).values(),
];

const HAS_TIME =
  /\d:\d|\d\s?[ap]\.?m|\d (?:uhr|o['’]clock)|(?:a|de) las? \d|\d\s?[点點時时]|noon|midday|midnight|(?:half|quarter) (?:past|to) /;

/** Minutes that lie between two times: "15 minutes early", `"duration":30`, "an hour before". */
function spansIn(text: string): readonly number[] {
  const spans = new Set<number>();
  for (const match of text.matchAll(SPAN)) {
    if (spans.size >= MAX_SPANS) break;
    const [whole, number, keyed, worded, unit] = match;
    if (worded !== undefined) {
      const count = worded.startsWith('half') ? 0.5 : (NUMBER_WORDS.get(worded) ?? WORDS[worded] ?? 1);
      spans.add(count * (unit === 'hour' ? 60 : 1));
    } else {
      const count = Number(number ?? keyed) + (whole.includes('.5') ? 0.5 : 0);
      const isHours =
        keyed === undefined ? /h|stund|小时|時間/.test(whole) && !/min/.test(whole) : /hour/.test(whole);
      spans.add(isHours ? count * 60 : count);
    }
  }
  return [...spans].filter((span) => span > 0);
}
