/** How a part of a call ended: a member of a list, a line of a text, a call beside others of its tool. */
import { isObject } from '../../json/index.ts';
import { isRefusal, NO_FAILURE, REFUSED_TEXT, SAYS_SUCCESS } from './outcome-text.ts';
import type { ReadStep } from './types.ts';
import { actsIn, FAILURES, shares, wordsOfName } from './words.ts';

/** `open`: not yet, or not needed; `other`: in words that say neither. */
export type PartEnd = 'failed' | 'done' | 'open' | 'other';

/** A part of a result, and how it ended. */
export interface Part {
  readonly end: PartEnd | undefined;
  readonly value: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

const MAX_FIELDS = 24;
const MAX_STATE_CHARS = 40;
const MAX_TEXT_CHARS = 120;
const MAX_LINES = 60;
/** What an act has as its flag when it went well. */
export const WENT =
  /^(?:ok|success|successful|succeeded|accepted|delivered|completed|executed|applied|done|sent|healthy|éxito)$/i;
export const STATE =
  /^(?:status|state|result|outcome|estado|statut|ergebnis|resultado|phase|delivery|availability|esito|situação|situacao|zustand|état|状态|狀態|状況|結果|结果|ステータス)$/i;
const GOOD =
  /^(?:ok|okay|success|successful|successfully|succeeded|done|complete|yes|true|pass|sent|paid|delivered|active|ready|live|up|online|healthy|running|2\d\d|hecho|listo|fait|feito|erledigt|fertig|成功|完了|完成|済み?|正常)$/;
const OPEN =
  /^(?:pending|queued|scheduled|processing|progress|in|started|starting|submitted|received|new|open|waiting|already|exists|existing|existed|unchanged|duplicate|none|null|no_change|unknown|n|draft|partial|info|warning|optional)$/;
/** States that another one than the wished makes a failure of. */
const SHUT = /^(?:stopped|paused|locked|closed|expired|frozen|disabled|archived|unlocked|removed|rolled)$/;

/** `enrolled` is said of `enroll`: `{"enrolled": false}` is a refusal. */
export const isPastOf = (key: string, verb: string): boolean =>
  verb.length > 2 &&
  key.endsWith('ed') &&
  key.toLowerCase().startsWith(verb) &&
  key.length <= verb.length + 3;

/** "printed", "entregado", "livré" */
const PARTICIPLE =
  /(?:ed|[ai]d[oa]s?|ées?|é|^ge.{2,}t|^(?:ver|zuge|be).{3,}t|[sl]ent|paid)$|已|了$|しました|済/;
export const isOfTool = (word: string, toolWords: readonly string[]): boolean =>
  toolWords.some((own) => isPastOf(word, own)) ||
  (PARTICIPLE.test(word) && shares(actsIn([word], word), actsIn(toolWords, '')));
const NOT =
  /(?<!\p{L})(?:not|no|never|nicht|keine?|pas|não|without|yet)(?!\p{L})|n['’]t(?!\p{L})|没|未|ません/u;

export function endOfState(value: unknown, toolWords: readonly string[]): PartEnd {
  if (typeof value === 'boolean') return value ? 'done' : 'failed';
  if (typeof value !== 'string' || value.length > MAX_STATE_CHARS || value === '') return 'open';
  const words = wordsOfName(value);
  const [first = ''] = words;
  if (isRefusal(value)) {
    const isOwn = toolWords.some((word) => word.length > 3 && first.startsWith(word));
    return isOwn ? 'done' : 'failed';
  }
  if (first.startsWith('un') && isOfTool(first.slice(2), toolWords)) return 'failed';
  const hasNo = words.some((word) => word === 'no' || word === 'without');
  if (FAILURES.occurIn(words, value)) return hasNo || words.length > 3 ? 'other' : 'failed';
  if (OPEN.test(first) || words.some((word) => OPEN.test(word) && word !== 'in')) return 'open';
  if (words.some((word) => GOOD.test(word) || isOfTool(word, toolWords))) return hasNo ? 'other' : 'done';
  if (REFUSED_TEXT.test(words.join(' '))) return 'failed';
  return SHUT.test(first) || !PARTICIPLE.test(first) ? 'other' : 'done';
}

/** The end that a record tells by its state, its flag or its error. */
export function endOfRecord(record: Fields, toolWords: readonly string[]): PartEnd | undefined {
  let left = MAX_FIELDS;
  let end: PartEnd | undefined;
  for (const key in record) {
    if (left-- <= 0) return end;
    const value = record[key];
    if (STATE.test(key) && (typeof value === 'string' || typeof value === 'number')) {
      const isHttp = typeof value === 'number' || /^[1-5]\d\d$/.test(value);
      const said = isHttp
        ? Number(value) >= 400 && Number(value) < 600
          ? 'failed'
          : 'done'
        : endOfState(value, toolWords);
      if (said === 'failed') return said;
      end = said;
    } else if (
      typeof value === 'boolean' &&
      (WENT.test(key) || toolWords.some((own) => isPastOf(key, own)))
    ) {
      if (!value) return 'failed';
      end = 'done';
    } else if (/^err(?:or)?$/i.test(key) && (isObject(value) || (typeof value === 'string' && value !== '')))
      return 'failed';
  }
  return end;
}

/** The end that a short text tells. */
export function endOfText(text: string, toolWords: readonly string[]): PartEnd {
  const lower = text.slice(0, MAX_TEXT_CHARS).toLowerCase();
  const words = wordsOfName(lower);
  if (NO_FAILURE.test(lower)) return 'done';
  if (FAILURES.occurIn(words, lower) || REFUSED_TEXT.test(lower)) return 'failed';
  if (NOT.test(lower)) return 'other';
  const isGood = words.some((word) => GOOD.test(word) || isOfTool(word, toolWords));
  if (isGood || SAYS_SUCCESS.test(text) || (words.length === 1 && PARTICIPLE.test(lower))) return 'done';
  return words.some((word) => OPEN.test(word)) || text.length > MAX_TEXT_CHARS ? 'open' : 'other';
}

/** The ends of the lines of a text that has one for each part: "root ok", "q3.pdf: quota exceeded". */
export function endsOfLines(text: string, toolWords: readonly string[]): readonly Part[] {
  const lines = text.split(/\n|;\s/, MAX_LINES + 1).filter((line) => line.trim() !== '');
  if (lines.length < 2 || lines.length > MAX_LINES || lines.some((line) => line.length > MAX_TEXT_CHARS))
    return [];
  return lines.map((value) => ({ end: endOfText(value, toolWords), value }));
}

const WHY = /^(?:reasons?|causes?|stderr|details?|blocked_?by|grund|motivo|raison|原因|理由)$/i;
const endOfCall = ({ tool, value }: ReadStep): PartEnd | undefined => {
  if (typeof value === 'boolean') return endOfState(value, []);
  if (typeof value === 'string')
    return /^\S*\d\S*$/.test(value) ? 'open' : endOfText(value, wordsOfName(tool));
  return isObject(value) ? endOfRecord(value, wordsOfName(tool)) : undefined;
};

/** Of calls of one tool of which some say that they went well, those that say something else. */
export function oddCalls(calls: readonly ReadStep[]): ReadonlySet<ReadStep> {
  const byTool = new Map<string, ReadStep[]>();
  for (const call of calls) {
    if (call.isRead || call.outcome !== 'ok') continue;
    const of = byTool.get(call.tool);
    if (of === undefined) byTool.set(call.tool, [call]);
    else of.push(call);
  }
  const odd = new Set<ReadStep>();
  for (const of of byTool.values()) {
    if (of.length < 2) continue;
    const ends = of.map(endOfCall);
    const reasons = of.map(({ value }) => isObject(value) && Object.keys(value).some((key) => WHY.test(key)));
    of.forEach((call, i) => {
      const isOdd = ends.includes('done') && (ends[i] === 'failed' || ends[i] === 'other');
      // Only this one says why.
      if (isOdd || (reasons[i] === true && reasons.includes(false))) odd.add(call);
    });
  }
  return odd;
}
