import { isObject } from '../../json/index.ts';
import { EMPTY, FAILURES, NO_ADMISSION, Phrases, readPassage, SUCCESSES } from '../phrases/index.ts';
import {
  ASIDE,
  bareKey,
  COUNT_KEYS,
  EFFECT_KEYS,
  ERROR_KEYS,
  EXIT_KEYS,
  FAILED_KEYS,
  FOUND_KEYS,
  keys,
  MESSAGE_KEYS,
  OF_CALL,
  PAYLOADS,
  STATE_KEYS,
  SUCCESS_KEYS,
} from './keys.ts';
import {
  endOfRecord,
  endsOfLines,
  firstKeys,
  isEnd,
  isFailedEnd,
  isNothing,
  isPastForm,
  MAX_MESSAGE_CHARS,
  MAX_STATE_CHARS,
  ofParts,
  type PartEnd,
  readEnds,
  saysFailure,
} from './parts.ts';
import { parsed } from './plain-text.ts';
import type { StepEnd } from './types.ts';

/** Longer texts are documents: only how they begin, and what they count, is an end of the call. */
const HEAD_CHARS = 300;

/** How a text begins that is the report of a failure, after a word or two ("MCP error", "Input validation error"). */
const OPENING = new Phrases({
  en: 'error*, err, exception*, traceback, fatal, failed, failure, unauthorized, forbidden, denied, timeout, timed out, invalid, validation failed, unknown action, unknown tool, unknown command, cannot, could not, unable, aborted, rejected, refused, not found, enoent, eacces, econn*, permission denied, service unavailable, bad gateway, internal server error, too many requests, conflict',
  de: 'fehler*, fehlgeschlagen, konnte nicht',
  es: 'error*, falló, no se pudo',
  fr: 'erreur*, échec, impossible',
  pt: 'erro*, falha, não foi possível',
  ja: 'エラー, 失敗',
  zh: '失败, 失敗, 错误, 錯誤',
});
const MAX_OPENING_WORD = 4;
const HTTP_FAILURE =
  /^\W{0,4}(?:(?:http|smtp|status|error|code)[\s:/]{0,2}){0,2}(?:1\.\d )?[45]\d\d(?![\d.,:])/;
/** "3 failed, 127 passed", "failed: 3" */
const COUNTED =
  /(?<![\d.,:])(\d{1,7})\s(?:\p{L}{2,12}\s)?(\p{L}{4,20})|(?<!\p{L})(\p{L}{2,20})\s?[:=：]\s?(\d{1,7})(?![\d.])/gu;

const SILENT_TOOLS = keys(
  'run exec execute shell bash sh python node code script command terminal git kubectl docker browser chmod chown mkdir touch cp mv ln',
);

/** What a call achieved, by the words and counts of its result, in seven languages. */
export function readOutcome(value: unknown, toolWords: readonly string[], isRead: boolean): StepEnd {
  if (value === false) return { outcome: 'failed' };
  if (value === undefined || value === null || value === '') {
    if (value === '' && (!isRead || toolWords.some((word) => SILENT_TOOLS.has(word))))
      return { outcome: 'ok' };
    return { outcome: 'empty', hadNoEffect: true };
  }
  if (typeof value === 'string') return outcomeOfText(value, toolWords, isRead);
  if (Array.isArray(value))
    return value.length === 0 ? { outcome: 'empty' } : ofParts(readEnds(value, toolWords, isRead));
  return isObject(value) ? outcomeOfRecord(value, toolWords, isRead, 0) : { outcome: 'ok' };
}

function outcomeOfText(text: string, toolWords: readonly string[], isRead: boolean): StepEnd {
  const record = isRead ? undefined : recordOfLines(text);
  if (record !== undefined) return outcomeOfRecord(record, toolWords, isRead, 0);
  const head = text.slice(0, HEAD_CHARS);
  const lines = isRead ? [] : endsOfLines(text, toolWords);
  if (lines.includes('failed') && lines.includes('done')) return ofParts(lines);
  const counted = countsIn(text.length > 2 * HEAD_CHARS ? `${head}\n${text.slice(-HEAD_CHARS)}` : text);
  if (counted.failed > 0 && !isRead)
    return counted.done > 0
      ? { outcome: 'partial', done: counted.done }
      : { outcome: 'failed', isState: true };
  if (counted.failed > 0) return { outcome: 'failed', isState: true };
  const passage = readPassage(head);
  const opening = OPENING.find(passage);
  const opens =
    opening !== undefined &&
    (opening.word < 0 ? opening.start < 12 : opening.word <= MAX_OPENING_WORD) &&
    !NO_ADMISSION.has(passage);
  const good = SUCCESSES.find(passage);
  const isEmpty = EMPTY.find(passage);
  if (isRead && isEmpty !== undefined && isEmpty.word < 4 && text.length < MAX_MESSAGE_CHARS)
    return { outcome: 'empty' };
  if (opens && (good === undefined || good.start > opening.start)) return { outcome: 'failed' };
  if (HTTP_FAILURE.test(passage.lower)) return { outcome: 'failed' };
  if (text.length <= MAX_MESSAGE_CHARS) {
    const bad = FAILURES.find(passage);
    const isFirst = bad !== undefined && (good === undefined || good.start > bad.start);
    if (isFirst && saysFailure(text, toolWords)) return { outcome: 'failed', isState: true };
    if (isEmpty !== undefined && (isEmpty.word < 4 || text.length < 40))
      return { outcome: 'empty', hadNoEffect: true };
  }
  return { outcome: 'ok' };
}

const LINE = /^([A-Za-z]\w{0,40}):(?:\s(.{0,200}))?$/;
/** A record that a text has in lines, as YAML: "accepted: true". Its lines are no parts of a whole. */
function recordOfLines(text: string): Record<string, unknown> | undefined {
  const record: Record<string, unknown> = {};
  let isEnd = false;
  for (const line of text.slice(0, 4 * HEAD_CHARS).split('\n')) {
    if (/^(?:\s|- |$)/.test(line)) continue;
    const [, key, value = ''] = LINE.exec(line) ?? [];
    if (key === undefined) return undefined;
    const bare = bareKey(key);
    isEnd ||= STATE_KEYS.has(bare) || SUCCESS_KEYS.has(bare) || bare.endsWith('status');
    // What the caller gave as its reason is no end of the call.
    if (!MESSAGE_KEYS.has(bare)) record[key] = parsed(value.replace(/^'|'$/g, ''));
  }
  return isEnd && Object.keys(record).length > 1 ? record : undefined;
}

function countsIn(text: string): { failed: number; done: number } {
  const counts = { failed: 0, done: 0 };
  if (!FAILED_NOUNS.mayBeIn(text.toLowerCase())) return counts;
  for (const [, before, noun, key, after] of text.toLowerCase().matchAll(COUNTED)) {
    const word = noun ?? (key as string);
    const count = Number(before ?? after);
    if (FAILED_NOUNS.hasWord(word)) counts.failed += count;
    else if (SUCCESSES.hasWord(word) || word.endsWith('ed')) counts.done += count;
  }
  return counts;
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
const DONE_NOUNS = new Phrases({
  en: 'imported, succeeded, success, created, deleted, updated, processed, sent, ok, added, inserted, done, passed, delivered, completed, moved, uploaded',
  de: 'importiert, gesendet, erstellt, erledigt',
  es: 'importad*, borrad*, enviad*, cread*, procesad*, completad*',
  fr: 'importé*, envoyé*, créé*, supprimé*',
  pt: 'importad*, enviad*, criad*',
  ja: '成功, 完了',
  zh: '成功, 完成, 已',
});

function outcomeOfRecord(
  record: Record<string, unknown>,
  toolWords: readonly string[],
  isRead: boolean,
  depth: number,
): StepEnd {
  const names = firstKeys(record);
  if (names.length === 0) return { outcome: 'empty', hadNoEffect: true };
  const counts = { failed: 0, done: 0 };
  let [isFailed, isFailedState, changedNothing, holdsNothing, hasMessage] = [
    false,
    false,
    false,
    true,
    false,
  ];
  const parts: PartEnd[] = [];
  let payload: unknown;
  for (const name of names) {
    const value = record[name];
    const key = bareKey(name);
    if (ERROR_KEYS.has(key) && key !== 'lasterror' && !isNothing(value)) {
      if (typeof value === 'number') counts.failed += value;
      else if (Array.isArray(value)) counts.failed += value.length;
      else isFailed = true;
    } else if (STATE_KEYS.has(key) && isEnd(value)) isFailedState ||= isFailedEnd(value, toolWords);
    else if (typeof value === 'boolean') {
      const isOwn = toolWords.some((word) => isPastForm(key, word));
      if (FAILED_KEYS.has(key)) isFailed ||= value;
      else if (!value && (SUCCESS_KEYS.has(key) || isOwn)) {
        if (isRead && !/^(?:success|ok|successful|succeeded)$/.test(key)) isFailedState = true;
        else isFailed = true;
      }
    } else if (EXIT_KEYS.has(key) && Number(value) > 0) isFailedState = true;
    else if (typeof value === 'number' && !/code|rate|margin/.test(key)) {
      if (value > 0 && FAILED_NOUNS.hasWord(key)) counts.failed += value;
      else if (value > 0 && DONE_NOUNS.hasWord(key)) counts.done += value;
      else if (value === 0 && EFFECT_KEYS.has(key)) changedNothing = true;
    } else if (Array.isArray(value) && value.length > 0 && !ASIDE.test(key)) {
      if (FAILED_NOUNS.hasWord(key) || key.startsWith('not')) counts.failed += value.length;
      else if (DONE_NOUNS.hasWord(key)) counts.done += value.length;
      else parts.push(...readEnds(value, toolWords, isRead));
    } else if (isObject(value) && !isRead && !ASIDE.test(key) && depth < 2) {
      if (PAYLOADS.has(key)) payload = value;
      else if (endOfRecord(value, toolWords) === 'failed') isFailed = true;
    }
    if (typeof value === 'string' && MESSAGE_KEYS.has(key)) hasMessage = true;
    if (PAYLOADS.has(key) && (isObject(value) || Array.isArray(value))) payload = value;
    if (!saysNothing(key, value)) holdsNothing = false;
  }
  if (isFailed) return { outcome: 'failed' };
  if (isFailedState) return { outcome: 'failed', isState: true };
  const failed = counts.failed + parts.filter((end) => end === 'failed').length;
  const done = counts.done + parts.filter((end) => end === 'done').length;
  if (isRead && failed > 0 && done === 0 && parts.length === 1) return { outcome: 'failed', isState: true };
  if (failed > 0 && !isRead)
    return done > 0 ? { outcome: 'partial', done } : { outcome: 'failed', isState: true };
  if (changedNothing && done === 0 && !isRead) return { outcome: 'empty', hadNoEffect: true };
  if (payload !== undefined && depth < 3 && isEnvelope(names))
    return Array.isArray(payload)
      ? payload.length === 0
        ? { outcome: 'empty' }
        : { outcome: 'ok' }
      : outcomeOfRecord(payload as Record<string, unknown>, toolWords, isRead, depth + 1);
  if (!isRead && hasMessage && isRefusal(record, names, toolWords)) return { outcome: 'failed' };
  if (isRead && foundNothing(record, names)) return { outcome: 'empty' };
  return { outcome: holdsNothing && !names.every((name) => OF_CALL.has(bareKey(name))) ? 'empty' : 'ok' };
}

const isEnvelope = (names: readonly string[]): boolean =>
  names.every((name) => {
    const key = bareKey(name);
    return (
      PAYLOADS.has(key) ||
      OF_CALL.has(key) ||
      STATE_KEYS.has(key) ||
      SUCCESS_KEYS.has(key) ||
      MESSAGE_KEYS.has(key) ||
      ERROR_KEYS.has(key)
    );
  });

/** `{"request": null, "messages": ["The limit is reached"]}`, `{"code": 5003, "msg": "…"}`: a reason beside nothing. */
function isRefusal(
  record: Record<string, unknown>,
  names: readonly string[],
  toolWords: readonly string[],
): boolean {
  let said = '';
  for (const name of names) {
    const value = record[name];
    const key = bareKey(name);
    if (MESSAGE_KEYS.has(key))
      said += ` ${typeof value === 'string' ? value : JSON.stringify(value ?? '').slice(0, MAX_MESSAGE_CHARS)}`;
    else if (!isNothing(value) && !OF_CALL.has(key) && key !== 'code' && key !== 'id') return false;
  }
  const passage = readPassage(said.slice(0, MAX_MESSAGE_CHARS));
  const good = SUCCESSES.find(passage);
  const bad = FAILURES.find(passage);
  const code = record.code;
  if (typeof code === 'number' && code !== 0 && (code < 200 || code >= 300) && good === undefined)
    return true;
  return bad !== undefined && (good === undefined || good.start > bad.start) && saysFailure(said, toolWords);
}

const saysNothing = (key: string, value: unknown): boolean =>
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (value === 0 && COUNT_KEYS.has(key)) ||
  (typeof value === 'string' &&
    MESSAGE_KEYS.has(key) &&
    EMPTY.has(readPassage(value.slice(0, HEAD_CHARS)))) ||
  OF_CALL.has(key);

/** `{"query": "…", "total": 0, "results": [], "took_ms": 12}` */
function foundNothing(record: Record<string, unknown>, names: readonly string[]): boolean {
  let hasEmptyList = false;
  for (const name of names) {
    const value = record[name];
    const key = bareKey(name);
    if (Array.isArray(value)) {
      if (value.length > 0) return false;
      hasEmptyList ||= FOUND_KEYS.has(key);
    } else if (typeof value === 'number' && COUNT_KEYS.has(key) && value !== 0) return false;
    else if (typeof value === 'string' && value.length > MAX_STATE_CHARS + 20) return false;
  }
  return hasEmptyList;
}
