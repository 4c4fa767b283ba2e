import { batchOf, isRefusal, isRefused } from './batch.ts';
import { foundNothing, payloadOf } from './payload.ts';
import { actsIn, FAILURES, readsOnly, shares, verbStem, wordsOfName } from './words.ts';

/** A tool call of the run, in the order in which the calls were made. */
export interface TraceStep {
  readonly tool: string;
  readonly arguments?: unknown;
  readonly result?: unknown;
  /** The call failed or was denied, by the protocol or the gate. A failure may also be in `result` alone. */
  readonly isError?: boolean;
  /** The call ended well as far as one knows, and its result is not known: values are not compared with it. */
  readonly isOpaque?: boolean;
}

export type StepOutcome = 'ok' | 'failed' | 'empty' | 'partial';

/** Longer texts are not parsed: they are read as text. */
const MAX_JSON_CHARS = 65_536;
const MAX_KEYS = 200;

/** Patterns of texts are of lower case. A failure at the beginning of a text, or said by the common words of programs. */
const FAILED_TEXT =
  /^\W{0,4}(?:mcp |http |\w{1,30}\s?)?(?:error|err|exception|traceback|fatal|fehler|erreur|erro|failed|failure|unauthorized|forbidden|(?:access |permission |policy |request )?denied|fail\b|timeout|request timed out|timed out|invalid|validation failed|unknown (?:action|tool|command)|échec|falló|失败|失敗|错误|錯誤|エラー)|^\W{0,4}(?:http\/?\d?\.?\d?\s?)?[45]\d\d\b|\b(?:not (?:be )?(?:complete|process)ed|konnte nicht|no se pudo|could not be|cannot be|n'a pas pu|impossible de|timed out|tiempo de espera|zeitüberschreitung|(?:operation )?not permitted|cannot (?:remove|open|create|access|stat|read|write)|connection refused|econn\w{1,20}|enoent|eacces|[45]\d\d (?:bad (?:gateway|request)|internal server error|not found|forbidden|service unavailable|unauthorized|gateway time-?out|too many requests))\b|できません|失敗|失败/;
/** What a short text without more says of a call that did not go through. */
const REFUSED =
  /\b(?:blocked|aborted|exceeded|unprocessable|unreachable|refused|rejected|forbidden|unauthori[sz]ed|(?:not|un)(?: be)? (?:reachable|permitted|allowed|authori[sz]ed|possible|available|successful|changed|executed|performed|completed|processed)|nothing (?:was|has been) \w{3,12}|bounced|undeliverable|mailbox full|no space left|(?:booking|reservation|appointment|order|status|settings?|record|account|subscription)[^.;]{0,40} unchanged|no changes (?:were|was|made)|try again|quota|rate.?limit(?:ed)?|nicht (?:erreichbar|möglich|erlaubt|verfügbar|berechtigt|ausgeführt|gefunden)|no (?:disponible|permitido|autorizado|fue posible)|pas (?:disponible|autorisé|possible))(?![\p{L}\p{N}])|权限不足|拒绝|拒收|驳回|超时|タイムアウト|権限|利用できません/u;
const MAX_REFUSAL_CHARS = 160;
/** A line that reports a failure, after others. */
const FAILED_LINE =
  /^\W{0,4}(?:error|fatal|fehler|\w{1,30}error|\w{1,20} err!|err!|!\s\[rejected\])(?:[:\s]|$)/m;
/** What a connection or a server gives in the place of an answer. */
const BROKE_OFF =
  /\b(?:connect(?:ion)?|network|socket|server|gateway|upstream|internal|dns|tls|ssl|proxy|backend|i\/o|io|transport|validation|permission|runtime) (?:error|timeout|failure|reset|refused|closed|lost|aborted|terminat(?:ed|ion))|\b(?:disconnect(?:ed)?|socket hang ?up|broken pipe|deadline exceeded|circuit (?:breaker )?open|out of memory|killed|segmentation fault|core dumped|service unavailable|under maintenance|wartung)\b|メンテナンス中|维护中/;
const NO_FAILURE = /^\W{0,4}0\s|(?:^|\s)0 (?:errors?|failed)|no (?:errors?|failures)/;
const EMPTY_TEXT =
  /^\W{0,4}(?:(?:found |returned |total:? )?0 (?:rows|results|items|matches|records|件|hits|messages|files|entries|documents)|no (?:results|rows|matches|records|items|data|such|availability|entries)|not found|nothing|empty|none|keine|sin resultados|aucun|0件|なし|无)|\(0 (?:rows|records)\)\W{0,4}$/;
/** How many parts failed and how many went well, as programs print it: "3 failed, 127 passed", "failed: 3". */
const FAILED_PARTS =
  /(?<![\d.,])(\d{1,7})\s(?:tests?\s|checks?\s)?(?:failed|failing|failures?)\b|\b(?:failed|failures)\s?[:=]\s?(\d{1,7})(?![\d.])/g;
const PASSED_PARTS =
  /(?<![\d.,])0*[1-9]\d{0,6}\s(?:tests?\s|checks?\s)?(?:passed|passing|succeeded|successful)\b/;
const NO_EFFECT = /affected|updated|deleted|changed/i;

const NOTHING = /^(?:0|none|null|no|false|ninguno|keine?|aucun|nil|n\/a|-|无|なし)?$/i;
const ERROR_KEY =
  /^(?:error|err|errors|error_?messages?|error_?details?|exception|fault|fehler|erreur|erro|エラー|错误)$/i;
const SUCCESS_KEY =
  /^(?:success|ok|successful|succeeded|valid|accepted|approved|allowed|granted|deleted|updated|sent|created|cancelled|acknowledged|confirmed|éxito)$/i;
/** Of a record that another act made they are flags: a draft is not `sent`, a new user not `deleted`. */
const ACT_KEY = /^(?:sent|deleted|cancelled)$/i;
const STATUS_KEY =
  /^(?:status|state|result|outcome|estado|statut|ergebnis|resultado|phase|conclusion|esito|stato|situação|状态|ステータス|code|status_?code|http_?status)$/i;
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
const MESSAGE_KEY = /^(?:message|msg|meldung|mensaje)$/i;
/** Numbers of failures beside a message; 0 and those of HTTP's successes are none. */
const CODE_KEY = /^(?:code|err_?(?:code|no)|ret_?code)$/i;
const REASONS_KEY = /^(?:messages?|msg|reasons?|notes?|hint|details?)$/i;
const FAILED_KEY = /^(?:iserror|is_error|failed|failure)$/i;
const EFFECT_KEY =
  /^(?:updated|affected|modified|affected_?rows|rows_?affected|rows|row_?count|n_?modified|(?:matched|modified|deleted|updated|inserted|affected)_?count|matched|deleted|inserted|changed|changes|count)$/i;
const FAILED_COUNT =
  /fail|error|reject|skipp|invalid|fehler|fehlgeschlagen|fallid|falhas|erro|échou|[ée]chec|失败|失敗/i;
const DONE_COUNT =
  /import|success|succeed|creat|delet|updat|process|sent|ok|added|inserted|done|borrad|complet|成功|完了/i;
/** Lists of what a call did and did not do, by their keys. */
export const FAILED_LIST =
  /^(?:fail(?:ed|ures?)|rejected|not_(?:sent|added|found|updated|deleted)|fehlgeschlagen|fallid[oa]s|falhas|[ée]checs?|失败|失敗)$/i;
/** How long a call took and what it was asked for: no finding. */
const OF_CALL =
  /^(?:took(?:_ms)?|elapsed(?:_ms)?|duration(?:_m?s)?|time_?ms|latency(?:_ms)?|query|q|page|limit|offset|per_page|page_size)$/i;
/** Of a thing that a call read it may be an old one. */
const LAST_ERROR = /^(?:last_)?[a-z]{1,12}_error$/i;
const ISSUES = /^(?:issues?|problems?|messages)$/i;
const SEVERE = /^(?:error|fatal|critical)$/i;
const FOUND_COUNT = /total|count|found|hits|size|anzahl/i;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textsOf = (content: unknown): string | undefined =>
  Array.isArray(content) &&
  content.length > 0 &&
  content.every((part): part is { text: string } => isRecord(part) && typeof part.text === 'string')
    ? content.map((part) => part.text).join('\n')
    : undefined;

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
    } else if (isRecord(value)) {
      const text = textsOf(value.content);
      const keys = Object.keys(value);
      if (text !== undefined) {
        if (value.isError === true) return value;
        value = text;
      } else if (keys.length === 1 && /^(?:return_value|result|output|text)$/.test(keys[0] as string))
        value = value[keys[0] as string];
      else return value;
    } else return value;
  }
  return value;
}

const ofBatch = (list: readonly unknown[], toolWords: readonly string[]): Outcome => {
  const { failed, done } = batchOf(list, toolWords);
  return { outcome: failed === 0 ? 'ok' : done > 0 ? 'partial' : 'failed' };
};

interface Outcome {
  readonly outcome: StepOutcome;
  readonly hadNoEffect?: boolean;
  /** It failed by a status: of a call that reads, that of the thing. */
  readonly isState?: boolean;
}

/**
 * What a call achieved, as far as an answer may claim it: by the tool's name and the words and counts of its result, in
 * several languages, and whether it changed nothing (`{"updated": 0}`, an empty answer). Not whether the result is
 * flagged as an error: that is `isError`, decided once, by `interaction/tool-outcome.ts`, which sorts results into
 * evidence and failures and has to know neither tool nor language.
 */
export function outcomeOf(step: TraceStep, value: unknown): Outcome {
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
  if (typeof value === 'string') return textOutcome(value, toolWords, !readsOnly(toolWords, acts, step.tool));
  const writes = !readsOnly(toolWords, acts, step.tool);
  if (Array.isArray(value))
    return value.length === 0 ? { outcome: 'empty' } : writes ? ofBatch(value, toolWords) : { outcome: 'ok' };
  if (!isRecord(value)) return { outcome: 'ok' };
  const whole = recordOutcome(value, toolWords, step.tool);
  const payload = whole.outcome === 'ok' ? payloadOf(value) : undefined;
  if (payload === undefined) return whole;
  if (Array.isArray(payload)) return payload.length > 0 ? whole : { outcome: 'empty' };
  return recordOutcome(payload as Record<string, unknown>, toolWords, step.tool);
}

function textOutcome(text: string, toolWords: readonly string[], writes: boolean): Outcome {
  const head = text.slice(0, 300).toLowerCase();
  const parts = text.length > 600 ? `${head}\n${text.slice(-300).toLowerCase()}` : text.toLowerCase();
  const failed =
    parts.includes('fail') &&
    [...parts.matchAll(FAILED_PARTS)].some((match) => Number(match[1] ?? match[2]) > 0);
  if (failed) return { outcome: PASSED_PARTS.test(parts) ? 'partial' : 'failed' };
  if ((FAILED_TEXT.test(head) || FAILED_LINE.test(head)) && !NO_FAILURE.test(head))
    return { outcome: 'failed' };
  const refusal = text.length <= MAX_REFUSAL_CHARS ? REFUSED.exec(parts)?.[0] : undefined;
  if (
    refusal !== undefined &&
    !toolWords.some((word) => word.length > 3 && refusal.startsWith(word.slice(0, 5)))
  )
    return { outcome: 'failed', isState: true };
  if (
    writes &&
    text.length <= MAX_REFUSAL_CHARS &&
    BROKE_OFF.test(parts) &&
    !NO_FAILURE.test(parts) &&
    !SAYS_SUCCESS.test(parts)
  )
    return { outcome: 'failed' };
  if (EMPTY_TEXT.test(head)) return { outcome: 'empty', hadNoEffect: NO_EFFECT.test(head) };
  return { outcome: 'ok' };
}

function recordOutcome(record: Record<string, unknown>, toolWords: readonly string[], tool: string): Outcome {
  const keys = Object.keys(record).slice(0, MAX_KEYS);
  if (keys.length === 0) return { outcome: 'empty', hadNoEffect: true };
  if (isReasonOnly(record, keys, toolWords)) return { outcome: 'failed' };
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
        isFailedState = true;
    } else if (value === false && ACT_KEY.test(key) && isOfOtherAct(key, acts, writes)) {
      isEmpty = false;
      continue;
    } else if (saysFailure(key, value) || (value === false && toolWords.some((word) => isPastOf(key, word))))
      return { outcome: 'failed' };
    if (writes && isRecord(value) && !EARLIER_KEY.test(key) && endsInFailure(value, toolWords))
      return { outcome: 'failed' };
    if (ERROR_KEY.test(key) && Array.isArray(value)) counts.failed ||= value.length;
    else if (writes && Array.isArray(value) && value.length > 0) {
      if (FAILED_LIST.test(key)) counts.failed += value.length;
      else if (DONE_COUNT.test(key) || /(?:ed|és|ées|ados|adas)$/.test(key)) counts.done += value.length;
      if (ISSUES.test(key) && value.every(isSevere)) return { outcome: 'failed' };
    } else if (writes && LAST_ERROR.test(key) && isRecord(value) && Object.keys(value).length > 0)
      return { outcome: 'failed' };
    if (typeof value === 'number' && value > 0) {
      if (FAILED_COUNT.test(key) && Number.isInteger(value) && !/code|rate|margin/i.test(key))
        counts.failed += value;
      else if (DONE_COUNT.test(key) || key.endsWith('ed')) counts.done += value;
    }
    if (value === 0 && EFFECT_KEY.test(key)) changedNothing = true;
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
    counts.failed += batch.failed;
    counts.done += batch.done;
  }
  if (counts.failed > 0) return { outcome: counts.done > 0 ? 'partial' : 'failed' };
  if (changedNothing && counts.done === 0) return { outcome: 'empty', hadNoEffect: true };
  if (!writes && foundNothing(record)) return { outcome: 'empty' };
  return { outcome: isEmpty && !keys.every((key) => OF_CALL.test(key)) ? 'empty' : 'ok' };
}

/** `{"request": null, "messages": ["The limit is reached"]}`, `{"code": 5003, "msg": "…"}`: nothing but a reason. */
function isReasonOnly(
  record: Record<string, unknown>,
  keys: readonly string[],
  toolWords: readonly string[],
): boolean {
  let [hasReason, hasNothing, hasCode] = [false, false, false];
  for (const key of keys) {
    const value = record[key];
    if (REASONS_KEY.test(key) && (Array.isArray(value) ? value.length > 0 : typeof value === 'string')) {
      if (typeof value === 'string' && SAYS_SUCCESS.test(value.slice(0, MAX_REFUSAL_CHARS))) return false;
      hasReason = true;
    } else if (value === null)
      hasNothing ||=
        YIELD_KEY.test(key) || wordsOfName(key).some((word) => toolWords.some((own) => isKin(own, word)));
    else if (CODE_KEY.test(key) && typeof value === 'string' && ERROR_CODE.test(value)) hasCode = true;
    else if (CODE_KEY.test(key) && typeof value === 'number')
      hasCode ||= value !== 0 && (value < 200 || value >= 300);
    else return false;
  }
  return hasReason && (hasCode || (hasNothing && !keys.some((key) => CODE_KEY.test(key))));
}
/** `booking` of `book_train`, `reservation` of `reserver`. */
const isKin = (own: string, word: string): boolean =>
  verbStem(own) === verbStem(word) || (own.length > 5 && own.slice(0, 6) === word.slice(0, 6));
const SAYS_SUCCESS =
  /success|succeeded|\bok\b|\bdone\b|\bcreated\b|成功|完了|完成|erfolg|éxito|succès|sucesso/i;
/** `E30`, `ERR_LIMIT`, `QUOTA_EXCEEDED` */
const ERROR_CODE =
  /^(?:e(?:rr(?:or)?)?[-_]?\d|err(?:or)?[-_])|exceed|denied|fail|invalid|not_|limit|insufficient/i;
/** What a call that went well gives. */
const YIELD_KEY = /^(?:result|data|id|response|output)$/i;
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

const isSevere = (one: unknown): boolean =>
  isRecord(one) && typeof one.severity === 'string' && SEVERE.test(one.severity);

function isFailure(status: string, toolWords: readonly string[]): boolean {
  const words = wordsOfName(status);
  if (FAILURES.occurIn(words, status)) return true;
  return (
    (FAILED_STATES.has(words.join('_')) || isRefusal(status)) &&
    !toolWords.some((word) => isPastOf(words[0] as string, word))
  );
}

/** `enrolled` is said of `enroll`: `{"enrolled": false}` is a refusal. */
const isPastOf = (key: string, verb: string): boolean =>
  verb.length > 2 &&
  key.endsWith('ed') &&
  key.toLowerCase().startsWith(verb) &&
  key.length <= verb.length + 3;

const isOfOtherAct = (key: string, acts: ReadonlySet<string>, writes: boolean): boolean =>
  !writes || (acts.size > 0 && !shares(acts, actsIn([key.toLowerCase()], '')));

function saysFailure(key: string, value: unknown): boolean {
  if (ERROR_KEY.test(key))
    return (
      value === true ||
      (typeof value === 'string' && !NOTHING.test(value.trim())) ||
      (isRecord(value) && Object.keys(value).length > 0)
    );
  if (SUCCESS_KEY.test(key) && value === false) return true;
  if (MESSAGE_KEY.test(key))
    return typeof value === 'string' && value.length < 200 && FAILED_TEXT.test(value.toLowerCase());
  if (FAILED_KEY.test(key) && value === true) return true;
  if (!STATUS_KEY.test(key)) return false;
  return typeof value === 'number' && value >= 400 && value < 600;
}
