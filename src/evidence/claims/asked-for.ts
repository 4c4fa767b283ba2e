/** What a call was given and what its result has in its place. */
import { isObject } from '../../json/index.ts';
import type { ReadStep, Sentence } from './types.ts';

type Fields = Readonly<Record<string, unknown>>;

const MAX_FIELDS = 40;
const MAX_NODES = 200;
const MAX_DEPTH = 3;
const MAX_VALUE_CHARS = 40;
const MAX_ITEMS = 40;
const MIN_ITEM = 3;
/** How a call looks, not what it does. */
const OF_CALL =
  /^(?:limit|page|offset|query|q|format|type|kind|lang|locale|timezone|unit|units|currency|mode|dry_run|id|name|title|message|text|body|subject|note|reason|description|content)$/i;
const WHOLE =
  /^(?:total|requested|attempted|expected|submitted|desired|wanted|target|gesamt|solicitados?|demandés?|总数|合計)(?:_count)?$/i;
const PART =
  /^(?:[a-zà-ÿ_]{2,20}(?:ed|ados|idos|ées?|és)|sent|ready|done|succeeded|success|ok|completed|ready_replicas|gesendet|übertragen|成功|完了)(?:_count)?$/i;
const FAILING =
  /fail|reject|skip|declin|error|remov|exclud|drop|requested|attempted|expected|submitted|desired|wanted|billed|limited|estimated|allowed|needed|required/i;
const EARLIER = /^(?:prev|old|last|before|former|original|from|current_)/i;

const signless = (value: unknown): string =>
  String(value)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

/** A value that a call was given, and the other one that its result has under the same key. */
export interface Deviation {
  readonly key: string;
  readonly asked: string | number;
  readonly got: string | number;
}

export function deviationsOf({
  arguments: args,
  value,
}: Pick<ReadStep, 'arguments' | 'value'>): readonly Deviation[] {
  if (!isObject(args) || !isObject(value)) return [];
  const found: Deviation[] = [];
  const given = new Map<string, string | number>();
  for (const key of Object.keys(args).slice(0, MAX_FIELDS)) {
    const one = args[key];
    if (OF_CALL.test(key) || (typeof one !== 'number' && typeof one !== 'string')) continue;
    if (String(one).length > 0 && String(one).length <= MAX_VALUE_CHARS) given.set(key.toLowerCase(), one);
  }
  if (given.size === 0) return [];
  const kept = new Set<string>();
  let left = MAX_NODES;
  const walk = (record: Fields, depth: number): void => {
    for (const key in record) {
      if (left-- <= 0) return;
      const got = record[key];
      if (isObject(got)) {
        if (depth < MAX_DEPTH && !EARLIER.test(key)) walk(got, depth + 1);
        continue;
      }
      const asked = given.get(key.toLowerCase());
      if (asked === undefined || (typeof got !== 'number' && typeof got !== 'string')) continue;
      if (isAlike(asked, got)) kept.add(key.toLowerCase());
      else if (String(got).length <= MAX_VALUE_CHARS && String(got) !== '')
        found.push({ key: key.toLowerCase(), asked, got });
    }
  };
  walk(value, 0);
  return found.filter(({ key }) => !kept.has(key));
}

function isAlike(asked: string | number, got: string | number): boolean {
  const [left, right] = [Number(asked), Number(got)];
  if (Number.isFinite(left) && Number.isFinite(right))
    return (
      Math.abs(left - right) < 0.011 ||
      Math.abs(left * 100 - right) < 0.011 ||
      Math.abs(left - right * 100) < 0.011
    );
  const [one, other] = [signless(asked), signless(got)];
  return one === '' || other === '' || one.includes(other) || other.includes(one);
}

/** Said of a thing that was asked for and is another one. */
const ASIDE =
  /(?<![a-z])(?:not|instead|asked|requested|wanted|originally|moved|rather|from|unfortunately|was|were|already|but)(?![a-z])|n['’]t(?![a-z])|nicht|statt|sondern|leider|pero|mais|但/;

/** The answer tells what was asked for, and nowhere what the call did instead. */
export function tellsAsked(sentence: Sentence, answer: string, { asked, got }: Deviation): boolean {
  if (sentence.isQuestion || ASIDE.test(sentence.lower)) return false;
  const [said, other] = [String(asked).toLowerCase(), String(got).toLowerCase()];
  if (typeof asked === 'number' ? Math.abs(asked) < 2 : said.length < MIN_ITEM) return false;
  return isIn(sentence.lower, said) && !isIn(answer, other);
}
function isIn(text: string, part: string): boolean {
  const at = text.indexOf(part);
  return (
    at >= 0 &&
    !/[\p{L}\p{N}]/u.test(text[at - 1] ?? ' ') &&
    !/[\p{L}\p{N}]/u.test(text[at + part.length] ?? ' ')
  );
}

/** How many of what a call was to do it did, where its result tells of some only. */
export function shareOf({
  arguments: args,
  value,
  text,
}: Pick<ReadStep, 'arguments' | 'value' | 'text'>):
  | { readonly isNone: boolean; readonly count: number }
  | undefined {
  if (isObject(value)) {
    const record = [value, ...Object.values(value).slice(0, MAX_FIELDS).filter(isObject)];
    for (const one of record) {
      let [whole, part] = [0, -1];
      for (const key of Object.keys(one).slice(0, MAX_FIELDS)) {
        const number = one[key];
        if (typeof number !== 'number' || !Number.isInteger(number)) continue;
        if (WHOLE.test(key)) whole = Math.max(whole, number);
        else if (PART.test(key) && !FAILING.test(key)) part = Math.max(part, number);
      }
      if (whole > 1 && part >= 0 && part < whole) return { isNone: part === 0, count: part };
    }
  }
  if (!isObject(args) || typeof value !== 'object' || value === null) return undefined;
  const lists = Object.values(args).slice(0, MAX_FIELDS).filter(Array.isArray);
  const [list] = lists;
  if (lists.length !== 1 || list === undefined || list.length < 2 || list.length > MAX_ITEMS)
    return undefined;
  if (!list.every((one) => typeof one === 'string' && one.length >= MIN_ITEM)) return undefined;
  const found = list.filter((one) => text.includes(String(one))).length;
  return found > 0 && found < list.length ? { isNone: false, count: found } : undefined;
}
