/** What a call achieved, by the words and counts of its result. */
import { isObject } from '../../json/index.ts';
import {
  ACTS,
  EMPTY,
  FAILURES,
  NO_ADMISSION,
  type Passage,
  Phrases,
  readPassage,
  SUCCESSES,
} from '../phrases/index.ts';
import { ASIDE, bareKey, hasKind, SILENT_TOOLS } from './keys.ts';
import type { ReadStep, StepEnd } from './types.ts';

/** Longer texts are documents: only how they begin, and what they count, is an end of the call. */
const HEAD_CHARS = 300;
const MAX_MESSAGE_CHARS = 200;
const MAX_STATE_CHARS = 60;
const MAX_KEYS = 60;
const MAX_RECORDS = 200;
const MAX_DEPTH = 2;
/** A report of a failure begins with it, after a word or two: "MCP error", "Input validation error". */
const MAX_OPENING_WORD = 3;
/** A word this early says that nothing was found. */
const MAX_EMPTY_WORD = 3;

const HTTP_FAILURE =
  /^\W{0,4}(?:(?:http|smtp|status|error|code)[\s:/]{0,2}){0,2}(?:1\.\d )?[45]\d\d(?![\d.,:])/;

/** A tool of many parts, and what it was called to do. */
type Call = Pick<ReadStep, 'toolWords' | 'isRead'>;

const FAILED: StepEnd = { outcome: 'failed' };
const FAILED_STATE: StepEnd = { outcome: 'failed', isState: true };

export function readOutcome(value: unknown, toolWords: readonly string[], isRead: boolean): StepEnd {
  if (value === false) return FAILED;
  // Many calls that change something answer nothing, and a text that is missing may not have been kept.
  if (value === undefined || value === null) return { outcome: isRead ? 'empty' : 'ok' };
  if (value === '') return { outcome: 'ok' };
  return readValue(value, { toolWords, isRead }, 0);
}

function readValue(value: unknown, call: Call, depth: number): StepEnd {
  if (typeof value === 'string') return readText(value, call);
  if (Array.isArray(value)) return readList(value, call, depth);
  return isObject(value) ? readRecord(value, call, depth) : { outcome: 'ok' };
}

/** Of a call that looks, several members are what was found. */
function readList(list: readonly unknown[], call: Call, depth: number): StepEnd {
  if (list.length === 0) return { outcome: 'empty' };
  if (call.isRead && list.length > 1) return { outcome: 'ok' };
  const members = list.slice(0, MAX_RECORDS).filter(isObject);
  const failed = members.filter((one) => readRecord(one, call, depth + 1).outcome === 'failed').length;
  return ofCounts(failed, members.length - failed) ?? { outcome: 'ok' };
}

const ofCounts = (failed: number, done: number): StepEnd | undefined =>
  failed === 0 ? undefined : done > 0 ? { outcome: 'partial' } : FAILED_STATE;

function readText(text: string, { toolWords, isRead }: Call): StepEnd {
  const head = text.slice(0, HEAD_CHARS);
  const passage = readPassage(head);
  const isShort = text.length <= MAX_MESSAGE_CHARS;
  const isEmpty = isShort && (EMPTY.find(passage)?.word ?? HEAD_CHARS) <= MAX_EMPTY_WORD;
  if (isRead && isEmpty) return { outcome: 'empty' };
  const ends = `${head}\n${text.slice(HEAD_CHARS).slice(-HEAD_CHARS)}`;
  const counted = isRead || isEcho(passage, toolWords) ? undefined : endOfCounts(ends);
  if (counted !== undefined) return counted;
  const bad = failureIn(passage, toolWords);
  if ((bad !== undefined && bad.word <= MAX_OPENING_WORD) || HTTP_FAILURE.test(passage.lower)) return FAILED;
  if (bad !== undefined && isShort) return FAILED_STATE;
  // `execute_sql` prints no rows of an update.
  if (!isEmpty || toolWords.some((word) => SILENT_TOOLS.has(word))) return { outcome: 'ok' };
  // `glob`: a tool that is not named for an act may have looked for something.
  return { outcome: 'empty', hadNoEffect: toolWords.some((word) => ACTS.of(word).length > 0) };
}

/** A word of failure before one of success, and no part of the tool's own name: "locked" is the end of `lock_door`. */
function failureIn(passage: Passage, toolWords: readonly string[]) {
  const bad = FAILURES.find(passage);
  const good = SUCCESSES.find(passage);
  if (bad === undefined || (good !== undefined && good.start <= bad.start)) return undefined;
  if (NO_ADMISSION.has(passage)) return undefined;
  // "Missing: 2": what a program counted.
  if (/^\s?[:=]\s?\d/.test(passage.lower.slice(bad.end))) return undefined;
  const word = passage.lower.slice(bad.start, bad.end);
  return toolWords.some((own) => own.length > 3 && word.startsWith(own.slice(0, 5))) ? undefined : bad;
}
const saysFailure = (text: string, toolWords: readonly string[]): boolean =>
  failureIn(readPassage(text.slice(0, MAX_MESSAGE_CHARS).replace(/[_-]/g, ' ')), toolWords) !== undefined;

/** "3 failed, 127 passed", "failed: 3" */
const COUNTED =
  /(?<![\d.,:])(\d{1,7})\s(?:\p{L}{2,12}\s)?(\p{L}{4,20})|(?<!\p{L})(\p{L}{2,20})\s?[:=：]\s?(\d{1,7})(?![\d.])/gu;
function endOfCounts(text: string): StepEnd | undefined {
  const counts = { failed: 0, done: 0 };
  for (const [, before, noun = '', key = noun, after] of text.toLowerCase().matchAll(COUNTED))
    count(counts, key, Number(before ?? after));
  return ofCounts(counts.failed, counts.done);
}
/** "Wrote results.md: 12 failed": what follows a success without a count was written, unless a program ran. */
function isEcho({ words, lower }: Passage, toolWords: readonly string[]): boolean {
  const isRun = toolWords.some((word) => SILENT_TOOLS.has(word) || /^(?:tests?|build|lint)$/.test(word));
  const done = words.find(({ text }) => SUCCESSES.hasWord(text) || /(?<!fail)ed$|written$/.test(text));
  if (isRun || done === undefined || /\d\s$/.test(lower.slice(0, done.start))) return false;
  return !/^[^\p{L}\d]{0,4}(?:\p{L}{1,20}[:=]? )?\d/u.test(lower.slice(done.end));
}
function count(counts: { failed: number; done: number }, word: string, number: number): void {
  if (FAILED_NOUNS.hasWord(word)) counts.failed += number;
  else if (SUCCESSES.hasWord(word) || word.endsWith('ed')) counts.done += number;
}
const FAILED_NOUNS = new Phrases({
  en: 'failed, failing, failures, failure, rejected, skipped, bounced, errors, error, denied, undeliver*, unreach*, conflicts, invalid',
  de: 'fehler, fehlgeschlagen, übersprungen, abgelehnt',
  es: 'fallid*, fallaron, errores, rechazad*, omitid*',
  fr: 'échecs, échec, erreurs, refusé*, échoué*',
  pt: 'erros, falhas, falha, recusad*',
  ja: '失敗, エラー',
  zh: '失败, 错误, 跳过',
});

function readRecord(record: Record<string, unknown>, call: Call, depth: number): StepEnd {
  const { toolWords, isRead } = call;
  const names = firstKeys(record);
  if (names.length === 0) return { outcome: 'empty', hadNoEffect: true };
  const counts = { failed: 0, done: 0 };
  let [isFailed, isFailedState, changedNothing, holdsNothing] = [false, false, false, true];
  let parts: StepEnd | undefined;
  const isDone = names.some((name) => record[name] === true && hasKind('success', bareKey(name)));
  for (const name of names) {
    const value = record[name];
    const key = bareKey(name);
    if (hasKind('error', key) && !isNothing(value)) {
      if (typeof value === 'number') counts.failed += value;
      else if (Array.isArray(value)) counts.failed += value.length;
      else isFailed = true;
    } else if (hasKind('state', key) && isEnd(value))
      isFailedState ||= isFailedEnd(value, toolWords, isDone ? '' : key);
    else if (typeof value === 'boolean') {
      const isOwn = hasKind('success', key) || toolWords.some((word) => isPastForm(key, word));
      const isBad = hasKind('failed', key) ? value : !value && isOwn;
      if (isRead && !hasKind('failed', key) && !/^(?:success|ok)/.test(key)) isFailedState ||= isBad;
      else isFailed ||= isBad;
    } else if (hasKind('exit', key) && Number(value) > 0) isFailedState = true;
    else if (typeof value === 'number' && !/code|rate|margin/.test(key)) {
      if (value > 0) count(counts, key, value);
      else if (value === 0 && hasKind('effect', key)) changedNothing = true;
    } else if (Array.isArray(value) && !ASIDE.test(key)) {
      if (FAILED_NOUNS.hasWord(key) || SUCCESSES.hasWord(key)) count(counts, key, value.length);
      else if (!isRead && depth < MAX_DEPTH) parts = readList(value, call, depth);
    } else if (
      isObject(value) &&
      (hasKind('payload', key) || !isRead) &&
      !ASIDE.test(key) &&
      depth < MAX_DEPTH
    )
      isFailedState ||= readRecord(value, call, depth + 1).outcome === 'failed';
    holdsNothing &&= saysNothing(key, value);
  }
  if (isFailed) return FAILED;
  if (isFailedState) return FAILED_STATE;
  const end = isRead ? undefined : ofCounts(counts.failed, counts.done);
  if (end !== undefined) return end;
  if (parts?.outcome === 'failed' || parts?.outcome === 'partial') return parts;
  if (changedNothing && counts.done === 0 && !isRead) return { outcome: 'empty', hadNoEffect: true };
  return {
    outcome: holdsNothing && !names.every((name) => hasKind('ofCall', bareKey(name))) ? 'empty' : 'ok',
  };
}

const firstKeys = (record: Record<string, unknown>): readonly string[] => {
  const names: string[] = [];
  for (const name in record) if (names.push(name) >= MAX_KEYS) break;
  return names;
};

const NONE = /^(?:0|none|null|no|false|ninguno|keine?|aucun|nil|n\/a|-|无|なし)$/i;
const isNothing = (value: unknown): boolean =>
  !value || (Array.isArray(value) && value.length === 0) || (typeof value === 'string' && NONE.test(value));

const isEnd = (value: unknown): value is string | number =>
  (typeof value === 'string' && value.length < MAX_STATE_CHARS) || typeof value === 'number';

/** Digits in a text are a code only under the key of one: elsewhere they are the thing's own number. */
const isFailedEnd = (value: string | number, toolWords: readonly string[], key: string): boolean =>
  (/^[45]\d\d$/.test(`${value}`) && (typeof value === 'number' || /^(?:http)?status(?:code)?$/.test(key))) ||
  saysFailure(`${value}`, toolWords);

/** `enrolled` is said of `enroll`: `{"enrolled": false}` is a refusal. */
const isPastForm = (key: string, verb: string): boolean =>
  verb.length > 2 &&
  key.endsWith('ed') &&
  key.startsWith(verb.replace(/e$/, '')) &&
  key.length <= verb.length + 3;

const saysNothing = (key: string, value: unknown): boolean =>
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (value === 0 && hasKind('count', key)) ||
  (typeof value === 'string' &&
    hasKind('message', key) &&
    EMPTY.has(readPassage(value.slice(0, HEAD_CHARS)))) ||
  hasKind('ofCall', key);
