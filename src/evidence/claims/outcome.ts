import { isObject } from '../../json/index.ts';
import { verbStemOf } from '../language/index.ts';
import { batchOf, FAILED_LIST, isRefused } from './batch.ts';
import {
  EMPTY_TEXT,
  FAILED_TEXT,
  isRefusal,
  MAX_REFUSAL_CHARS,
  NO_FAILURE,
  REFUSED_TEXT,
  refuses,
  SAYS_SUCCESS,
  type StepEnd,
  textOutcome,
} from './outcome-text.ts';
import { isOfTool, isPastOf } from './part-ends.ts';
import { foundNothing, payloadOf } from './payload.ts';
import type { TraceStep } from './types.ts';
import { actsIn, FAILURES, readsOnly, shares, wordsOfName } from './words.ts';

/** Longer texts are not parsed: they are read as text. */
const MAX_JSON_CHARS = 65_536;
const MAX_KEYS = 200;

const NOTHING = /^(?:0|none|null|no|false|ninguno|keine?|aucun|nil|n\/a|-|无|なし)?$/i;
const ERROR_KEY =
  /^(?:error|err|errors|error_?messages?|error_?details?|exception|fault|fault_?(?:code|string)|fehler|fehlermeldung|erreur|erro|エラー|エラー内容|错误|错误信息)$/i;
const SUCCESS_KEY =
  /^(?:success|ok|successful|succeeded|valid|accepted|approved|allowed|granted|deleted|updated|sent|created|cancelled|acknowledged|confirmed|éxito|exito|erfolg|erfolgreich|succès|succes|réussi|sucesso|exitoso|成功)$/i;
/** What a look finds out about a thing. */
const FLAG_OF_THING = /^(?:valid|accepted|approved|allowed|granted|acknowledged|confirmed)$/i;
/** Of a record that another act made they are flags: a draft is not `sent`, a new user not `deleted`. */
const ACT_KEY = /^(?:sent|deleted|cancelled)$/i;
const STATUS_KEY =
  /^(?:status|state|result|outcome|estado|statut|ergebnis|resultado|phase|conclusion|esito|stato|situação|situacao|zustand|état|etat|状态|狀態|状況|結果|结果|ステータス|code|status_?code|http(?:_?status)?)$/i;
/** Words that are a failure only as a whole status, and not where the tool's name has them: `locked` of `lock_door`. */
const FAILED_STATES = new Set(
  'complet complète full fully_booked sold_out no_availability locked blocked expired rolled_back reverted crashed bounced undelivered undeliverable insufficient_funds not_found not_sent not_delivered not_available unavailable lleno llena voll belegt gesperrt besetzt abgelaufen vollständig_belegt esgotado esaurito annullato'.split(
    ' ',
  ),
);
/** Tools that run commands: many succeed without a word. */
const SILENT =
  /^(?:run|exec|execute|shell|bash|sh|python|node|code|script|command|terminal|git|kubectl|docker|browser|chmod|chown|mkdir|touch|cp|mv|ln)$/;
/** A status as some programs write it: `"405"`. */
const HTTP_FAILURE = /^[45]\d\d$/;
const MESSAGE_KEY =
  /^(?:message|msg|meldung|mensaje|mensagem|hinweis|motivo|grund|raison|motif|消息|信息|提示|メッセージ|理由)$/i;
/** Numbers of failures beside a message; 0 and those of HTTP's successes are none. */
const CODE_KEY = /^(?:code|err_?(?:code|no)|ret_?code)$/i;
const REASONS_KEY =
  /^(?:messages?|msg|reasons?|notes?|hint|details?|meldung|hinweis|grund|mensaje|motivo|raison|motif|mensagem|消息|信息|提示|原因|メッセージ|理由)$/i;
const FAILED_KEY = /^(?:iserror|is_error|failed|failure)$/i;
const EFFECT_KEY =
  /^(?:updated|affected|modified|affected_?rows|rows_?affected|rows|row_?count|n_?modified|(?:matched|modified|deleted|updated|inserted|affected)_?count|matched|deleted|inserted|changed|changes|count)$/i;
const EXIT_KEY = /^(?:exit_?(?:code|status)|return_?code|rc)$/i;
const FAILED_COUNT =
  /fail|error|reject|skipp|invalid|bounce|undeliver|conflict|unreach|^not_|^ko$|^ng$|denied|declin|refus|fehler|fehlgeschlagen|übersprungen|abgelehnt|fall(?:id|ad)|omitid|rechazad|falh|erro|recusad|échou|[ée]chec|失败|失敗|エラー|跳过/i;
const DONE_COUNT =
  /import|success|succeed|creat|delet|updat|process|sent|ok|added|inserted|done|borrad|complet|[aio]dos$|[aio]das$|(?:é|ée)s$|^(?:ge|ver|über)[a-zäöü]+(?:t|en)$|成功|完了|已/i;
/** How long a call took and what it was asked for: no finding. */
const OF_CALL =
  /^(?:took(?:_ms)?|elapsed(?:_ms)?|duration(?:_m?s)?|time_?ms|latency(?:_ms)?|query|q|page|limit|offset|per_page|page_size)$/i;
/** Of a thing that a call read it may be an old one. */
const LAST_ERROR = /^(?:last_)?[a-z]{1,12}_error$/i;
const ISSUES = /^(?:issues?|problems?|messages)$/i;
const SEVERE = /^(?:error|fatal|critical)$/i;
const FOUND_COUNT = /total|count|found|hits|size|anzahl/i;

const textsOf = (content: unknown): string | undefined =>
  Array.isArray(content) &&
  content.length > 0 &&
  content.every((part): part is { text: string } => isObject(part) && typeof part.text === 'string')
    ? content.map((part) => part.text).join('\n')
    : undefined;

const ENVELOPES = ['return_value', 'result', 'output', 'text'];
/** The value that a result carries: JSON in texts is parsed, the envelopes of MCP and of frameworks are taken off. */
export function unwrapped(result: unknown): unknown {
  let value = result;
  for (let depth = 0; depth < 4; depth++) {
    if (typeof value === 'string') {
      const text = value.trim();
      if (text.length > MAX_JSON_CHARS || !/^[[{"]|^(?:null|true|false|-?\d)/.test(text)) return text;
      try {
        value = JSON.parse(text);
      } catch {
        return text;
      }
    } else if (isObject(value)) {
      const text = textsOf(value.content);
      const record = value;
      // Only then are the keys counted, of which there may be many.
      const inner = ENVELOPES.find((key) => Object.hasOwn(record, key));
      if (text !== undefined) {
        if (value.isError === true) return value;
        value = text;
      } else if (inner !== undefined && Object.keys(record).length === 1) value = record[inner];
      else return value;
    } else return value;
  }
  return value;
}

const ofBatch = (parts: readonly unknown[] | string, toolWords: readonly string[]): StepEnd => {
  const { failed, done } = batchOf(parts, toolWords);
  return { outcome: failed.length === 0 ? 'ok' : done > 0 ? 'partial' : 'failed', done };
};

/**
 * What a call achieved, as far as an answer may claim it: by the tool's name and the words and counts of its result, in
 * several languages, and whether it changed nothing (`{"updated": 0}`, an empty answer). Not whether the result is
 * flagged as an error: that is `isError`, decided once, by `interaction/tool-outcome.ts`, which sorts results into
 * evidence and failures and has to know neither tool nor language.
 */
export function outcomeOf(step: TraceStep, value: unknown): StepEnd {
  if (step.isError === true || value === false) return { outcome: 'failed' };
  if (step.isOpaque === true) return { outcome: 'ok' };
  const toolWords = wordsOfName(step.tool);
  const isSilent = toolWords.some((word) => SILENT.test(word));
  // Commands, and many calls that change something, say nothing when all went well.
  const acts = actsIn(toolWords, step.tool);
  if (value === '' && (isSilent || (acts.size > 0 && !readsOnly(toolWords, acts, step.tool))))
    return { outcome: 'ok' };
  if (value === null || value === undefined || value === '')
    return { outcome: 'empty', hadNoEffect: !isSilent };
  const writes = !readsOnly(toolWords, acts, step.tool);
  if (typeof value === 'string') {
    const lines = writes && !isSilent ? ofBatch(value, toolWords) : undefined;
    if (lines?.outcome === 'partial') return lines;
    const isWhole = FAILED_STATES.has(wordsOfName(value).join('_')) || isRefusal(value);
    return isWhole ? { outcome: 'failed', isState: true } : textOutcome(value, toolWords);
  }
  if (Array.isArray(value))
    return value.length === 0 ? { outcome: 'empty' } : writes ? ofBatch(value, toolWords) : { outcome: 'ok' };
  if (!isObject(value)) return { outcome: 'ok' };
  const whole = recordOutcome(value, toolWords, step);
  const payload = whole.outcome === 'ok' ? payloadOf(value) : undefined;
  if (payload === undefined) return whole;
  if (Array.isArray(payload)) return payload.length > 0 ? whole : { outcome: 'empty' };
  return recordOutcome(payload as Record<string, unknown>, toolWords, step);
}

function recordOutcome(
  record: Record<string, unknown>,
  toolWords: readonly string[],
  { tool, arguments: args }: TraceStep,
): StepEnd {
  const keys = Object.keys(record).slice(0, MAX_KEYS);
  if (keys.length === 0) return { outcome: 'empty', hadNoEffect: true };
  if (isReasonOnly(record, keys, toolWords, args)) return { outcome: 'failed' };
  const counts = { failed: 0, done: 0 };
  let changedNothing = false;
  let isEmpty = true;
  let isFailedState = false;
  const acts = actsIn(toolWords, '');
  const writes = !readsOnly(toolWords, acts, tool);
  for (const key of keys) {
    const value = record[key];
    if (STATUS_KEY.test(key) && typeof value === 'string') {
      if (value.length < 60 && (isFailure(value, toolWords) || HTTP_FAILURE.test(value)))
        isFailedState ||= !isAskedFor(value, args);
    } else if (value === false && ACT_KEY.test(key) && isOfOtherAct(key, acts, writes)) {
      isEmpty = false;
      continue;
    } else if (value === false && !writes && FLAG_OF_THING.test(key)) isFailedState = true;
    else if (saysFailure(key, value) || (value === false && toolWords.some((word) => isPastOf(key, word))))
      return { outcome: 'failed' };
    if (
      value === false &&
      writes &&
      acts.size > 0 &&
      !ACT_KEY.test(key) &&
      !toolWords.some((word) => ENDS.test(word)) &&
      shares(acts, actsIn(wordsOfName(key), key))
    )
      return { outcome: 'failed' };
    if (writes && isObject(value) && !EARLIER_KEY.test(key) && endsInFailure(value, toolWords))
      return { outcome: 'failed' };
    if (ERROR_KEY.test(key) && Array.isArray(value)) counts.failed ||= value.length;
    else if (writes && Array.isArray(value) && value.length > 0) {
      if (FAILED_LIST.test(key)) counts.failed += value.length;
      else if (DONE_COUNT.test(key) || /(?:ed|és|ées|ados|adas)$/.test(key)) counts.done += value.length;
      if (ISSUES.test(key) && value.every(isSevere)) return { outcome: 'failed' };
    } else if (writes && LAST_ERROR.test(key) && isObject(value) && Object.keys(value).length > 0)
      return { outcome: 'failed' };
    if (typeof value === 'number' && value > 0) {
      if (
        (FAILED_COUNT.test(key) || (writes && FAILED_LIST.test(key))) &&
        Number.isInteger(value) &&
        !/code|rate|margin/i.test(key)
      )
        counts.failed += value;
      else if (DONE_COUNT.test(key) || key.endsWith('ed')) counts.done += value;
    }
    if (EXIT_KEY.test(key) && Number(value) > 0) isFailedState = true;
    if (isNone(value) && (EFFECT_KEY.test(key) ? value === 0 : writes && isOfTool(key, toolWords)))
      changedNothing = true;
    const saysNothing =
      value === null ||
      value === '' ||
      (Array.isArray(value) && value.length === 0) ||
      (typeof value === 'string' &&
        MESSAGE_KEY.test(key) &&
        EMPTY_TEXT.test(value.slice(0, 300).toLowerCase())) ||
      (value === 0 && FOUND_COUNT.test(key)) ||
      OF_CALL.test(key);
    if (!saysNothing) isEmpty = false;
  }
  if (isFailedState) return { outcome: 'failed', isState: true };
  if (writes) {
    const batch = batchOf(record, toolWords);
    counts.failed += batch.failed.length;
    counts.done += batch.done;
  }
  if (counts.failed > 0)
    return counts.done > 0
      ? { outcome: 'partial', done: counts.done }
      : { outcome: 'failed', isState: !writes };
  if (changedNothing && counts.done === 0) return { outcome: 'empty', hadNoEffect: true };
  if (!writes && foundNothing(record)) return { outcome: 'empty' };
  return { outcome: isEmpty && !keys.every((key) => OF_CALL.test(key)) ? 'empty' : 'ok' };
}

/** `booking` of `book_train`, `reservation` of `reserver`. */
const isKin = (own: string, word: string): boolean =>
  verbStemOf(own) === verbStemOf(word) || (own.length > 4 && own.slice(0, 5) === word.slice(0, 5));
/** What a call that went well gives. */
const YIELD_KEY =
  /^(?:result|data|id|response|output)$|(?:_id|number|nummer|numero|número|_nr|_ref|番号|编号|单号)$/i;
/** `set_state({"state": "Failed"})`: a state that the call was to bring about. */
const isAskedFor = (state: string, args: unknown): boolean =>
  isObject(args) &&
  Object.values(args)
    .slice(0, MAX_PARTS)
    .some((one) => typeof one === 'string' && one.toLowerCase() === state.toLowerCase());

/** `{"request": null, "messages": ["The limit is reached"]}`, `{"code": 5003, "msg": "…"}`: nothing but a reason. */
function isReasonOnly(
  record: Record<string, unknown>,
  keys: readonly string[],
  toolWords: readonly string[],
  args: unknown,
): boolean {
  let [hasReason, hasNothing, hasCode] = [false, false, false];
  const given = isObject(args) ? Object.values(args).slice(0, MAX_PARTS) : [];
  const writes = !readsOnly(toolWords, actsIn(toolWords, ''));
  for (const key of keys) {
    const value = record[key];
    if (REASONS_KEY.test(key) && (Array.isArray(value) ? value.length > 0 : typeof value === 'string')) {
      if (typeof value === 'string' && SAYS_SUCCESS.test(value.slice(0, MAX_REFUSAL_CHARS))) return false;
      hasReason = true;
      hasNothing ||= writes && typeof value === 'string' && refuses(value, toolWords);
    } else if (value === null)
      hasNothing ||=
        (typeof record.reason === 'string' && !ERROR_KEY.test(key)) ||
        YIELD_KEY.test(key) ||
        wordsOfName(key).some((word) => toolWords.some((own) => isKin(own, word)));
    else if (CODE_KEY.test(key) && typeof value === 'number')
      hasCode ||= value !== 0 && (value < 200 || value >= 300);
    // What the call was given says nothing of its end.
    else if (!given.includes(value)) return false;
  }
  return hasReason && (hasCode || (hasNothing && !keys.some((key) => CODE_KEY.test(key))));
}
const EARLIER_KEY = /^(?:prev|old|last|before|former|history)/i;

/** `{"status": "received", "processing": {"state": "failed"}}` */
const endsInFailure = (part: Record<string, unknown>, toolWords: readonly string[]): boolean =>
  isRefused(part, toolWords) ||
  Object.keys(part)
    .slice(0, MAX_PARTS)
    .some((key) => {
      const value = part[key];
      if (value === false && toolWords.some((word) => isPastOf(key, word))) return true;
      return (
        STATUS_KEY.test(key) &&
        typeof value === 'string' &&
        value.length < 60 &&
        wordsOfName(value).length === 1 &&
        FAILURES.occurIn(wordsOfName(value), value) &&
        !toolWords.includes(key)
      );
    });
const MAX_PARTS = 20;

/** A tool of such a name has done its work when a flag is off. */
const ENDS =
  /^(?:un|dis|de)[a-z]{3,}$|^(?:b?lock|stop|suspend|pause|freeze|revoke|off|close|mute|end|terminate|archive|remove)$/;
const isNone = (value: unknown): boolean => value === 0 || (Array.isArray(value) && value.length === 0);
const isSevere = (one: unknown): boolean =>
  isObject(one) && typeof one.severity === 'string' && SEVERE.test(one.severity);

function isFailure(status: string, toolWords: readonly string[]): boolean {
  const words = wordsOfName(status);
  const [first = ''] = words;
  if (NO_FAILURE.test(status.toLowerCase())) return false;
  if (FAILURES.occurIn(words, status)) return true;
  return (
    (FAILED_STATES.has(words.join('_')) ||
      isRefusal(status) ||
      REFUSED_TEXT.test(status.toLowerCase().replace(/[_-]/g, ' '))) &&
    !toolWords.some((word) => isPastOf(first, word))
  );
}

const isOfOtherAct = (key: string, acts: ReadonlySet<string>, writes: boolean): boolean =>
  !writes || (acts.size > 0 && !shares(acts, actsIn([key.toLowerCase()], '')));

/** `"__type": "ConditionalCheckFailedException"` */
const EXCEPTION = /^[\w.#:]{0,80}(?:Exception|Error|Fault)$/;

function saysFailure(key: string, value: unknown): boolean {
  if (/^(?:__|@)?type$/i.test(key)) return typeof value === 'string' && EXCEPTION.test(value);
  if (ERROR_KEY.test(key))
    return (
      value === true ||
      (typeof value === 'string' && !NOTHING.test(value.trim())) ||
      (isObject(value) && Object.keys(value).length > 0)
    );
  if (SUCCESS_KEY.test(key) && (value === false || value === 0 || value === 'false' || value === 'no'))
    return true;
  if (MESSAGE_KEY.test(key))
    return typeof value === 'string' && value.length < 200 && FAILED_TEXT.test(value.toLowerCase());
  if (FAILED_KEY.test(key) && value === true) return true;
  if (!STATUS_KEY.test(key)) return false;
  return typeof value === 'number' && value >= 400 && value < 600;
}
