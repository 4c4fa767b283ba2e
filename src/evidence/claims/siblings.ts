import { isObject } from '../../json/index.ts';
import { isMarkerOrTime } from './figure-context.ts';
import { type Figure, figuresOf, numbersIn } from './figures.ts';
import { isConditional, isPlan } from './sentences.ts';
import { timesIn } from './times.ts';
import type { ReadStep, Sentence } from './types.ts';

const MAX_NODES = 2500;
/** Of texts with digits. */
const MAX_READ_CHARS = 20_000;
const MAX_DEPTH = 6;
const MAX_GROUPS = 24;
const MAX_MEMBERS = 40;
const MAX_TOKENS = 300;
const MAX_NAME_CHARS = 60;
const MAX_NUMBERS = 60;
const MAX_CHECKED = 48;
/** Smaller numbers are those of several records by chance. */
const MIN_VALUE = 10;
const MIN_TOKEN = 3;
const CENT = 0.0051;
const HALF_DAY = 720;
const MAX_TEXT_CHARS = 400;
const HAS_DIGIT = /\d/;
/** Fields that name no record: many have the same, or an answer has their words in another sense. */
const NO_NAME =
  /^(?:status|state|type|kind|category|currency|unit|reason|note|notes|description|message|text|summary|body|content|options?|color|colour|size|material|priority|role|level|cabin|class|method|source|condition|conditions|payment_?method|transaction_type)$/i;
/** Another record is spoken of than the one that is named. */
const OTHERS =
  /(?<!\p{L})(?:than|other|others|rest|both|each|plus|combined|together|average|vs|versus|compared|difference|between|instead|while|whereas|previous|previously|originally|als|statt|zusammen|entre|que|contra)(?!\p{L})|合計|合计|平均|一共|より|比/u;
const CLAUSE = /[,;:()—–|]|\s(?:and|while|but|whereas|und|aber|y|pero|et|mais|e|mas)\s|[、，；：（）]/;
/** Letters of languages without spaces end a name: `B207` of "和B207". */
const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+|(?![_-])(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])[\p{L}\p{N}_-])+/gu;

interface Member {
  /** Its words. */
  readonly tokens: ReadonlySet<string>;
  /** Numbers by their keys. */
  readonly numbers: ReadonlyMap<string, number>;
  /** All numbers, those of texts too. */
  readonly all: ReadonlySet<number>;
  /** Minutes of the day. */
  readonly times: ReadonlySet<number>;
}

interface Group {
  readonly members: readonly Member[];
  /** Members by the words that only they have. */
  readonly byToken: ReadonlyMap<string, Member>;
}

/** Records of one kind, each with words of its own, and what an answer says of one that only another one has. */
export class Siblings {
  readonly #steps: readonly ReadStep[];
  readonly #prompt: string;
  #groups: readonly Group[] | undefined;
  /** How often a number occurs in the results and arguments. */
  readonly #counts = new Map<number, number>();
  /** The same of times of half a day. */
  readonly #times = new Map<number, number>();
  #asked: ReadonlySet<number> = new Set();
  #left = MAX_CHECKED;

  constructor(steps: readonly ReadStep[], prompt: string) {
    this.#steps = steps;
    this.#prompt = prompt;
  }

  contradict(sentence: Sentence): boolean {
    if (sentence.isQuestion || !/\d/.test(sentence.text) || this.#left-- <= 0) return false;
    if (isConditional(sentence)) return false;
    const groups = this.#read();
    if (groups.length === 0) return false;
    const words = wordsOf(sentence.lower);
    return groups.some(({ members: group, byToken }) => {
      const named = namedIn(words, byToken);
      const [only] = named;
      if (only === undefined) return false;
      if (named.length === 1)
        return (
          (!OTHERS.test(sentence.lower) &&
            figuresIn(sentence).some((one) => this.#isOfAnother(one, only, group))) ||
          tellsAnotherTime(sentence, only, (time) => this.#isElsewhere(time, group))
        );
      return clausesOf(sentence).some(({ start, end }) => {
        const clause = sentence.lower.slice(start, end);
        if (OTHERS.test(clause)) return false;
        const inClause = wordsOf(clause);
        const [member, ...more] = namedIn(inClause, byToken);
        return (
          member !== undefined &&
          more.length === 0 &&
          figuresIn(sentence).some(
            (one) => one.start >= start && one.end <= end && this.#isOfAnother(one, member, group),
          )
        );
      });
    });
  }

  /** A number that one key of another record has, where this record has another one, and that stands nowhere else. */
  #isOfAnother(figure: Figure, own: Member, group: readonly Member[]): boolean {
    const { value, isMoney, raw } = figure;
    if (Math.abs(value) < MIN_VALUE && !isMoney && Number.isInteger(value)) return false;
    if (/^(?:19|20)\d\d$/.test(raw) || this.#asked.has(value) || has(own.all, value)) return false;
    for (const other of group) {
      if (other === own) continue;
      const keys = [...other.numbers].filter(([, number]) => isSame(number, value)).map(([key]) => key);
      const [key] = keys;
      if (keys.length !== 1 || key === undefined || /id$|number|date|year/i.test(key)) continue;
      const given = own.numbers.get(key);
      if (given === undefined || isSame(given, value)) continue;
      const number = other.numbers.get(key) as number;
      const inGroup = group.filter((one) => one.all.has(number)).length;
      if ((this.#counts.get(number) ?? 0) <= inGroup) return true;
    }
    return false;
  }

  /** Whether a record of another group has the time. */
  #isElsewhere(time: number, group: readonly Member[]): boolean {
    const inGroup = group.filter(({ times }) => [...times].some((one) => one % HALF_DAY === time)).length;
    return (this.#times.get(time) ?? 0) > inGroup;
  }

  #read(): readonly Group[] {
    if (this.#groups !== undefined) return this.#groups;
    const groups: (readonly Member[])[] = [];
    const texts = new Texts();
    let left = MAX_NODES;
    const walk = (value: unknown, depth: number): void => {
      if (left-- <= 0 || depth > MAX_DEPTH) return;
      if (typeof value === 'number') add(this.#counts, value);
      if (typeof value === 'string') {
        const { numbers, times } = texts.read(value);
        for (const number of numbers) add(this.#counts, number);
        for (const time of times) add(this.#times, time % HALF_DAY);
      }
      if (typeof value !== 'object' || value === null) return;
      const keys = Object.keys(value).slice(0, MAX_MEMBERS);
      const members = keys.map((key) => (value as Readonly<Record<string, unknown>>)[key]);
      if (members.length > 1 && members.every(isObject) && groups.length < MAX_GROUPS)
        groups.push(
          members.map((member, i) => memberOf(member, Array.isArray(value) ? '' : (keys[i] ?? ''), texts)),
        );
      for (const member of members) walk(member, depth + 1);
    };
    const byTool = new Map<string, Member[]>();
    for (const step of this.#steps) {
      if (step.isBad) continue;
      walk(step.value, 0);
      walk(step.arguments, 0);
      if (!step.isRead || step.names.length === 0) continue;
      const record = isObject(step.value) ? step.value : { text: step.text.slice(0, MAX_TEXT_CHARS) };
      const one = memberOf(record, step.names.join(' '), texts);
      const list = byTool.get(step.tool);
      if (list === undefined) byTool.set(step.tool, [one]);
      else if (list.length < MAX_MEMBERS) list.push(one);
    }
    for (const list of byTool.values()) if (list.length > 1) groups.push(list);
    this.#asked = new Set(numbersIn(this.#prompt.slice(-8192), 400));
    // Of more than is read it is not known what stands elsewhere.
    this.#groups = left <= 0 || texts.isCut ? [] : groups.flatMap(groupOf);
    return this.#groups;
  }
}

const add = (counts: Map<number, number>, number: number) =>
  counts.set(number, (counts.get(number) ?? 0) + 1);

/** The group, if each of its members has a word of its own. */
function groupOf(members: readonly Member[]): readonly Group[] {
  const byToken = new Map<string, Member | undefined>();
  for (const member of members)
    for (const token of member.tokens) byToken.set(token, byToken.has(token) ? undefined : member);
  const own = new Map<string, Member>();
  for (const [token, member] of byToken) if (member !== undefined) own.set(token, member);
  return new Set(own.values()).size === members.length ? [{ members, byToken: own }] : [];
}

const namedIn = (words: ReadonlySet<string>, byToken: ReadonlyMap<string, Member>): readonly Member[] => {
  const named = new Set<Member>();
  for (const word of words) {
    const member = byToken.get(word);
    if (member !== undefined) named.add(member);
  }
  return [...named];
};

interface TextFigures {
  readonly numbers: readonly number[];
  readonly times: readonly number[];
}
const NO_FIGURES: TextFigures = { numbers: [], times: [] };

/** The numbers and times of texts, each text read once. */
class Texts {
  readonly #known = new Map<string, TextFigures>();
  #left = MAX_READ_CHARS;

  get isCut(): boolean {
    return this.#left <= 0;
  }

  read(text: string): TextFigures {
    if (!HAS_DIGIT.test(text)) return NO_FIGURES;
    let figures = this.#known.get(text);
    if (figures === undefined) {
      const read = text.slice(0, MAX_TEXT_CHARS);
      this.#left -= read.length;
      if (this.isCut) return NO_FIGURES;
      figures = { numbers: numbersIn(read, MAX_NUMBERS), times: MAY_BE_TIME.test(read) ? timesOf(read) : [] };
      this.#known.set(text, figures);
    }
    return figures;
  }
}
const MAY_BE_TIME = /\d:\d\d|\d\s?[ap]\.?m|[点點時时]|uhr|o['’]clock|noon|midnight/i;

const isSame = (left: number, right: number): boolean => Math.abs(left - right) <= CENT;
const figuresIn = (sentence: Sentence): readonly Figure[] =>
  figuresOf(sentence).filter((figure) => !isMarkerOrTime(sentence.text, figure));
/** Whether one of the numbers is this one, as a whole number, or in cents. */
const has = (numbers: ReadonlySet<number>, value: number): boolean => {
  for (const number of numbers)
    if (
      Math.abs(Math.abs(number) - Math.abs(value)) <= (Number.isInteger(value) ? 0.51 : 0.051) ||
      isSame(number, value * 100)
    )
      return true;
  return false;
};
/** The words of a text, those in the plural in the singular too. */
const wordsOf = (lower: string): ReadonlySet<string> =>
  new Set(
    (lower.match(WORD) ?? []).flatMap((word) => (word.endsWith('s') ? [word, word.slice(0, -1)] : [word])),
  );
/** Times of day of a text, with those of points of time; none of a moment in universal time. */
function timesOf(text: string): readonly number[] {
  const lower = text.toLowerCase().replace(/(?<=\d)t(?=\d)/g, ' ');
  if (/\d\d:\d\d[\d:.]{0,12}z/.test(lower)) return [];
  return timesIn(lower.replace(/(?<=:\d\d)(?:[+-]\d\d:?\d\d)/g, ''))
    .map(({ minutes }) => minutes)
    .filter((one) => !Number.isNaN(one));
}

function clausesOf({ lower }: Sentence): readonly { readonly start: number; readonly end: number }[] {
  const clauses: { start: number; end: number }[] = [];
  let at = 0;
  while (at < lower.length) {
    const match = CLAUSE.exec(lower.slice(at));
    // "1,280.50" is one number.
    let end = match === null ? lower.length : at + match.index;
    if (match !== null && /[,:]/.test(match[0]) && /^\d/.test(lower.slice(end + 1, end + 2))) {
      const next = CLAUSE.exec(lower.slice(end + 1));
      end = next === null ? lower.length : end + 1 + next.index;
    }
    clauses.push({ start: at, end });
    at = end + (match === null ? 1 : Math.max(1, end === at + match.index ? match[0].length : 1));
  }
  return clauses;
}

function memberOf(record: Readonly<Record<string, unknown>>, name: string, texts: Texts): Member {
  const tokens = new Set<string>();
  const numbers = new Map<string, number>();
  const all = new Set<number>();
  const times = new Set<number>();
  let left = MAX_TOKENS;
  const take = (text: string) => {
    for (const word of text.toLowerCase().match(WORD) ?? [])
      if (word.length >= MIN_TOKEN && left-- > 0 && !/^\d{1,4}$/.test(word)) tokens.add(word);
  };
  const walk = (value: unknown, key: string, depth: number): void => {
    if (left-- <= 0 || depth > 3) return;
    if (typeof value === 'number') {
      all.add(value);
      if (!numbers.has(key)) numbers.set(key, value);
    } else if (typeof value === 'string') {
      if (depth < 2 && value.length <= MAX_NAME_CHARS && !NO_NAME.test(key) && !/^\d{4}-\d\d/.test(value))
        take(value);
      const figures = texts.read(value);
      for (const number of figures.numbers) all.add(number);
      for (const time of figures.times) times.add(time);
    } else if (typeof value === 'object' && value !== null)
      for (const [member, part] of Object.entries(value).slice(0, MAX_MEMBERS))
        walk(part, Array.isArray(value) ? key : member, depth + 1);
  };
  walk(record, '', 0);
  take(name);
  return { tokens, numbers, all, times };
}

/** Answers name free time, and what comes before or after, next to the times of a record. */
const BESIDE =
  /(?<![a-zß-ÿ])(?:free|available|gap|slot|before|after|until|till|by|leave|between|instead|moved?|from .{1,20} to .{1,20} to|reminder|early|late|later|earlier|around|about|frei|libre|travel|arrive)(?![a-zß-ÿ])|空/;
/** "1:1 with Karim from 3 to 4 pm" of a record with other times. */
function tellsAnotherTime(
  sentence: Sentence,
  { times }: Member,
  isElsewhere: (time: number) => boolean,
): boolean {
  if (times.size === 0 || times.size > 4 || isPlan(sentence) || BESIDE.test(sentence.lower)) return false;
  const said = timesIn(sentence.lower);
  if (said.length === 0 || said.length > 2) return false;
  const halves = new Set([...times].map((one) => one % HALF_DAY));
  return said.every(
    ({ minutes }) =>
      !Number.isNaN(minutes) && !halves.has(minutes % HALF_DAY) && !isElsewhere(minutes % HALF_DAY),
  );
}
