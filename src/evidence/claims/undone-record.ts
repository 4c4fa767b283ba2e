/** Records of calls that change something which say in fields of their own that they did not. */
import { isObject } from '../../json/index.ts';
import { refuses, SAYS_SUCCESS } from './outcome-text.ts';
import { endOfState, STATE } from './part-ends.ts';
import { actsIn, readsOnly, verbStem, wordsOfName } from './words.ts';

/** `booking` of `book_train`, `reservation` of `reserver`. */
export const isKin = (own: string, word: string): boolean =>
  verbStem(own) === verbStem(word) || (own.length > 4 && own.slice(0, 5) === word.slice(0, 5));
/** What a call that went well gives. */
export const YIELD_KEY =
  /^(?:result|data|id|response|output)$|(?:_id|number|nummer|numero|número|_nr|_ref|番号|编号|单号)$/i;
const OFF =
  /^(?:available|delivered|executed|saved|stored|ack|acknowledged|online|reachable|eligible|possible|answered|reached|live|applied|effective|connected|confirmad[oa]|disponible|möglich|可用|可能)$/i;
const STOPPED =
  /^(?:conflict|timed_?out|timeout|blocked|rejected|denied|expired|declined|rolled_?back|aborted)$/i;
const LACKS = /^(?:missing|invalid|validation|problem|fault)/i;
const TAKES_AWAY = /^(?:cancel|delete|remove|clear|close|unassign|release|end|stop)/;
const MAX_KEYS = 6;
const MAX_PARTS = 20;
/** `set_state({"state": "Failed"})`: a state that the call was to bring about. */
export const isAskedFor = (state: string, args: unknown): boolean =>
  isObject(args) &&
  Object.values(args)
    .slice(0, MAX_PARTS)
    .some((one) => typeof one === 'string' && one.toLowerCase() === state.toLowerCase());

/** `{"available": false, "next": "20:30"}` */
export function leavesUndone(
  record: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  toolWords: readonly string[],
  { tool, arguments: args }: { readonly tool: string; readonly arguments?: unknown },
): boolean {
  if (keys.length > MAX_KEYS || readsOnly(toolWords, actsIn(toolWords, ''), tool)) return false;
  const [first = ''] = toolWords;
  const yields = keys.some(
    (key) =>
      record[key] === true ||
      (YIELD_KEY.test(key) &&
        record[key] !== null &&
        typeof record[key] !== 'object' &&
        !refuses(String(record[key]), toolWords)) ||
      (STATE.test(key) && endOfState(record[key], toolWords) !== 'failed') ||
      (typeof record[key] === 'string' && SAYS_SUCCESS.test(record[key])),
  );
  if (
    keys.some((key) => STOPPED.test(key) && record[key] === true && !toolWords.some((own) => isKin(own, key)))
  )
    return true;
  if (yields) return false;
  return keys.some((key) => {
    const value = record[key];
    if (value === false) return OFF.test(key);
    if (value === null)
      return (
        !TAKES_AWAY.test(first) && wordsOfName(key).some((word) => toolWords.some((own) => isKin(own, word)))
      );
    if (typeof value === 'string')
      return !isAskedFor(value, args) && refuses(value.replace(/_/g, ' '), toolWords);
    return typeof value === 'object' && LACKS.test(key) && Object.keys(value).length > 0;
  });
}
