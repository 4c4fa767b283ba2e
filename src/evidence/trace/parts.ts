/** How parts of a call ended, and what words and keys say of it. */
import { isObject } from '../../json/index.ts';
import { FAILURES, NO_ADMISSION, readPassage, SUCCESSES } from '../phrases/index.ts';
import { bareKey, STATE_KEYS, SUCCESS_KEYS } from './keys.ts';
import type { StepEnd } from './types.ts';

/** Longer texts are documents. */
export const MAX_MESSAGE_CHARS = 200;
export const MAX_STATE_CHARS = 60;
const MAX_KEYS = 60;
const MAX_MEMBERS = 200;
const MAX_LINES = 60;

/** A failure by a word of it that is no part of the tool's own name: "locked" is the end of `lock_door`. */
export function saysFailure(text: string, toolWords: readonly string[]): boolean {
  const passage = readPassage(text.slice(0, MAX_MESSAGE_CHARS).replace(/[_-]/g, ' '));
  const hit = FAILURES.find(passage);
  if (
    hit === undefined ||
    NO_ADMISSION.has(passage) ||
    /(?<![\d.])0 (?:\p{L}{3,12} )?(?:fail|err|fehl|fall)/u.test(passage.lower)
  )
    return false;
  const word = passage.lower.slice(hit.start, hit.end);
  return !toolWords.some((own) => own.length > 3 && word.startsWith(own.slice(0, 5)));
}

export const firstKeys = (record: Record<string, unknown>): readonly string[] => {
  const names: string[] = [];
  for (const name in record) {
    if (names.length >= MAX_KEYS) break;
    names.push(name);
  }
  return names;
};

export const isNothing = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === 0 ||
  value === false ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'string' &&
    /^(?:0|none|null|no|false|ninguno|keine?|aucun|nil|n\/a|-|无|なし)$/i.test(value));

export const isEnd = (value: unknown): value is string | number =>
  (typeof value === 'string' && value.length < MAX_STATE_CHARS) || typeof value === 'number';

export const isFailedEnd = (value: string | number, toolWords: readonly string[]): boolean => {
  if (typeof value === 'number' || /^[1-5]\d\d$/.test(value))
    return Number(value) >= 400 && Number(value) < 600;
  return saysFailure(value, toolWords);
};

/** `enrolled` is said of `enroll`: `{"enrolled": false}` is a refusal. */
export const isPastForm = (key: string, verb: string): boolean =>
  verb.length > 2 &&
  key.endsWith('ed') &&
  key.startsWith(verb.replace(/e$/, '')) &&
  key.length <= verb.length + 3;

/** How a part of a call ended: a member of a list, a line of a text. */
export type PartEnd = 'failed' | 'done' | 'open';

export const readEnds = (
  list: readonly unknown[],
  toolWords: readonly string[],
  isRead: boolean,
): readonly PartEnd[] =>
  isRead && list.length > 1
    ? []
    : list.slice(0, MAX_MEMBERS).map((one) => (isObject(one) ? endOfRecord(one, toolWords) : 'open'));

export const ofParts = (ends: readonly PartEnd[]): StepEnd => {
  const done = ends.filter((end) => end === 'done').length;
  if (!ends.includes('failed')) return { outcome: 'ok' };
  return done > 0 ? { outcome: 'partial', done } : { outcome: 'failed', isState: true };
};

export function endOfRecord(record: Record<string, unknown>, toolWords: readonly string[]): PartEnd {
  let end: PartEnd = 'open';
  for (const name of firstKeys(record)) {
    const value = record[name];
    const key = bareKey(name);
    if (STATE_KEYS.has(key) && isEnd(value)) {
      if (isFailedEnd(value, toolWords)) return 'failed';
      if (typeof value === 'number' || SUCCESSES.has(readPassage(value)) || isOfTool(value, toolWords))
        end = 'done';
    } else if (
      typeof value === 'boolean' &&
      (SUCCESS_KEYS.has(key) || toolWords.some((own) => isPastForm(key, own)))
    ) {
      if (!value) return 'failed';
      end = 'done';
    } else if (/^err(?:or)?$/.test(key) && !isNothing(value)) return 'failed';
  }
  return end;
}

const isOfTool = (state: string, toolWords: readonly string[]): boolean =>
  toolWords.some((own) => isPastForm(state.toLowerCase(), own));

/** The ends of the lines of a text that has one for each part: "root ok", "q3.pdf: quota exceeded". */
export function endsOfLines(text: string, toolWords: readonly string[]): readonly PartEnd[] {
  const lines = text
    .slice(0, MAX_LINES * MAX_MESSAGE_CHARS)
    .split(/\n|;\s/, MAX_LINES + 1)
    .filter((line) => line.trim() !== '');
  if (lines.length < 2 || lines.length > MAX_LINES || lines.some((line) => line.length > MAX_MESSAGE_CHARS))
    return [];
  return lines.map((line) => {
    if (saysFailure(line, toolWords)) return 'failed';
    return SUCCESSES.has(readPassage(line)) ||
      toolWords.some((own) => line.toLowerCase().includes(`${own.replace(/e$/, '')}ed`))
      ? 'done'
      : 'open';
  });
}
