/** Failures that a result of a call that changes something holds one level down: flags with a reason, members of a batch. */
import { isObject } from '../../json/index.ts';
import { isRefusal } from './outcome-text.ts';
import { endOfRecord, endOfState, endsOfLines, type Part, STATE, WENT } from './part-ends.ts';

type Fields = Readonly<Record<string, unknown>>;

const MAX_MEMBERS = 200;
const MAX_FIELDS = 24;
const MAX_REASON_CHARS = 300;
const MAX_NAME_CHARS = 40;
const REASON =
  /^(?:reasons?|causes?|errors?|error_?(?:code|message)|err|faults?|code|messages?|msg|details?|hint|blocked_?by|decline_?(?:code|reason)|grund|motivo|raison|原因)$/i;
/** What was before the call, or around it. */
const ASIDE =
  /^(?:prev|old|last|before|former|history|histor|log|events?|attempts?|payment|transaction|previous|checks?|jobs?|linked|related)/i;

const saysWhy = (record: Fields): boolean => {
  let left = MAX_FIELDS;
  for (const key in record) {
    if (left-- <= 0) return false;
    const value = record[key];
    if (REASON.test(key) && typeof value === 'string' && value.length > 0 && value.length < MAX_REASON_CHARS)
      return true;
  }
  return false;
};

/** `{"accepted": false, "cause": "ALREADY_PICKED"}`, `{"outcome": "DO_NOT_HONOR"}`. */
export function isRefused(record: Fields, toolWords: readonly string[]): boolean {
  let left = MAX_FIELDS;
  for (const key in record) {
    if (left-- <= 0) return false;
    const value = record[key];
    if (value === false && WENT.test(key) && key !== 'sent' && saysWhy(record)) return true;
    if (
      STATE.test(key) &&
      typeof value === 'string' &&
      isRefusal(value) &&
      endOfState(value, toolWords) === 'failed'
    )
      return true;
  }
  return false;
}

/** The parts of a result that failed, and how many went well. */
export function batchOf(
  result: unknown,
  toolWords: readonly string[],
): { readonly failed: readonly unknown[]; readonly done: number } {
  const failed: unknown[] = [];
  let done = 0;
  const count = (parts: readonly Part[]) => {
    const went = parts.filter(({ end }) => end === 'done').length;
    done += went;
    for (const { end, value } of parts)
      if (end === 'failed' || (end === 'other' && went > 0)) failed.push(value);
  };
  const ofList = (list: readonly unknown[]) =>
    count(
      list.slice(0, MAX_MEMBERS).map((value) => ({
        end: isObject(value) ? endOfRecord(value, toolWords) : undefined,
        value,
      })),
    );
  if (typeof result === 'string') {
    const lines = endsOfLines(result, toolWords);
    if (!lines.some(({ end }) => end === 'other')) count(lines);
  } else if (Array.isArray(result)) ofList(result);
  else if (isObject(result))
    for (const key of Object.keys(result).slice(0, MAX_FIELDS)) {
      const value = result[key];
      if (Array.isArray(value) && !ASIDE.test(key)) ofList(value);
    }
  return { failed, done };
}

/** Lists of what a call did not do, and counts of it, by their keys. */
export const FAILED_LIST =
  /^(?:fail|reject|bounce|undeliver|unreach|skipp|denied|declin|not[_A-Z]|no_[a-z]{3,14}[oa]s$|(?:nicht|não|non|sin)_|fehlgeschlagen|abgelehnt|übersprungen|rechazad|recusad|refus(?:ée?s)?(?![a-zé])|fall(?:id|ad)[oa]s|falh|[ée]chec|omitid|未(?:送|发|達|达|完|通|成)|失败|失敗|跳过)/;
const ERRORS = /^(?:errors?|conflicts?|problems?|issues?)$/i;

/** What a result names as failed, and the words that it has for it, in lower case. */
export function failedIn(
  result: unknown,
  toolWords: readonly string[],
): { readonly names: readonly string[]; readonly reasons: string } {
  const [names, reasons]: [string[], string[]] = [[], []];
  const take = (value: unknown, key: string) => {
    if (isObject(value)) {
      for (const name of Object.keys(value).slice(0, MAX_FIELDS))
        if (!isObject(value[name])) take(value[name], name);
    } else if (typeof value === 'string' && value.length <= MAX_REASON_CHARS) {
      const isReason = STATE.test(key) || REASON.test(key) || value.length >= MAX_NAME_CHARS;
      (isReason ? reasons : names).push(value.toLowerCase());
    }
  };
  for (const part of batchOf(result, toolWords).failed) take(part, 'error');
  if (isObject(result))
    for (const key of Object.keys(result).slice(0, MAX_FIELDS)) {
      const value = result[key];
      if (!FAILED_LIST.test(key) && !ERRORS.test(key)) continue;
      reasons.push(key.toLowerCase().split('_')[0] as string);
      for (const member of Array.isArray(value) ? value.slice(0, MAX_NAMES) : [])
        take(member, ERRORS.test(key) ? 'error' : '');
    }
  return { names: names.filter((name) => name.length > 1).slice(0, MAX_NAMES), reasons: reasons.join('\n') };
}
const MAX_NAMES = 16;
