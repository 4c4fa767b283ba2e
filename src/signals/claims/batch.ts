/** Failures that a result of a call that changes something holds one level down: flags with a reason, members of a batch. */
import { isObject } from '../../json/index.ts';
import { FAILURES, wordsOfName } from './words.ts';

type Fields = Readonly<Record<string, unknown>>;

const MAX_MEMBERS = 200;
const MAX_FIELDS = 24;
const MAX_REASON_CHARS = 300;
const MAX_STATE_CHARS = 40;
/** What an act has as its flag when it went well. */
const WENT =
  /^(?:ok|success|successful|succeeded|accepted|delivered|completed|executed|applied|done|éxito)$/i;
const REASON =
  /^(?:reasons?|causes?|errors?|error_?(?:code|message)|err|faults?|code|messages?|msg|details?|hint|blocked_?by|decline_?(?:code|reason)|grund|motivo|raison|原因)$/i;
const STATE =
  /^(?:status|state|result|outcome|estado|statut|ergebnis|resultado|phase|delivery|esito|stato|状态|結果|结果|ステータス)$/i;
/** What was before the call, or around it. */
const ASIDE =
  /^(?:prev|old|last|before|former|history|histor|log|events?|attempts?|payment|transaction|previous|checks?|jobs?|linked|related)/i;
/** Codes of refusal that have no word of failure. */
const REFUSED =
  /^(?:do_?not_?honou?r|not_(?!required|needed|applicable|started|set|specified|scheduled)[a-z_]+|requires_[a-z_]+|awaiting_[a-z_]+|needs_[a-z_]+|wait_?list(?:ed)?|on_hold|pending_(?:approval|review|confirmation|verification|authori[sz]ation|payment|signature)|unconfirmed|unchanged|no_change|no_?op|ignored|dropped|deferred|postponed|suspended|lapsed|voided|quarantined|nicht_[a-zäöüß_]+|no_(?:enviad|encontrad|autorizad|disponible|realizad)[a-z]*|non_[a-zé]+|não_[a-z]+|unzustellbar|unbekannt[a-z]*|insufficient_[a-z_]+|bounced?|(?:hard_|soft_)?bounce|undeliver[a-z]*|unknown_(?:user|recipient|number)|no_such_[a-z_]+|no_(?:stock|capacity|seats?|funds|match)|out_of_stock|skipped|blocked|mismatch(?:ed)?|空号|拒收|退回|停机|未送达|未找到|宛先不明|不在)$/i;

/** `not_accepted`, `DO_NOT_HONOR`: a status that is a refusal as a whole. */
export const isRefusal = (status: string): boolean =>
  status.length <= MAX_STATE_CHARS && REFUSED.test(status.trim().replace(/[\s-]+/g, '_'));

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

const isBadState = (value: unknown, toolWords: readonly string[]): boolean => {
  if (typeof value !== 'string' || value.length > MAX_STATE_CHARS) return false;
  const words = wordsOfName(value);
  if (isRefusal(value)) return !toolWords.some((word) => word.length > 3 && words[0]?.startsWith(word));
  return (
    words.length <= 3 &&
    FAILURES.occurIn(words, value) &&
    !words.some((word) => word === 'no' || word === 'without')
  );
};

/** `{"accepted": false, "cause": "ALREADY_PICKED"}`, `{"outcome": "DO_NOT_HONOR"}`. */
export function isRefused(record: Fields, toolWords: readonly string[]): boolean {
  let left = MAX_FIELDS;
  for (const key in record) {
    if (left-- <= 0) return false;
    const value = record[key];
    if (value === false && WENT.test(key) && saysWhy(record)) return true;
    if (STATE.test(key) && typeof value === 'string' && isRefusal(value) && isBadState(value, toolWords))
      return true;
  }
  return false;
}

/** Whether a member of a batch failed, went well, or says nothing of it. */
function endOf(member: unknown, toolWords: readonly string[]): 'failed' | 'done' | undefined {
  if (!isObject(member)) return undefined;
  let [left, end] = [MAX_FIELDS, undefined as 'failed' | 'done' | undefined];
  for (const key in member) {
    if (left-- <= 0) return end;
    const value = member[key];
    if (STATE.test(key) && (typeof value === 'string' || typeof value === 'number')) {
      const isHttp = typeof value === 'number' || /^[1-5]\d\d$/.test(value);
      if (isHttp ? Number(value) >= 400 && Number(value) < 600 : isBadState(value, toolWords))
        return 'failed';
      end = 'done';
    } else if (WENT.test(key) && typeof value === 'boolean') {
      if (!value) return 'failed';
      end = 'done';
    } else if (/^err(?:or)?$/i.test(key) && (isObject(value) || (typeof value === 'string' && value !== '')))
      return 'failed';
  }
  return end;
}

/** How many members of the lists of a result failed, and how many went well. */
export function batchOf(
  result: unknown,
  toolWords: readonly string[],
): { readonly failed: number; readonly done: number } {
  let [failed, done] = [0, 0];
  const count = (list: readonly unknown[]) => {
    for (const member of list.slice(0, MAX_MEMBERS)) {
      const end = endOf(member, toolWords);
      if (end === 'failed') failed++;
      else if (end === 'done') done++;
    }
  };
  if (Array.isArray(result)) count(result);
  else if (isObject(result)) {
    let left = MAX_FIELDS;
    for (const key in result) {
      if (left-- <= 0) break;
      const value = result[key];
      if (Array.isArray(value) && !ASIDE.test(key)) count(value);
    }
  }
  return { failed, done };
}
