/** Results that say by their text alone that the call failed: many servers report errors without `isError`. */
import { constants } from 'node:os';
import { toolOutcome } from '../interaction/index.ts';
import { isObject } from '../json/index.ts';
import { NOTICES } from './prompts.ts';
import type { Ending } from './tool-text.ts';

/** A longer text is a document or a log, whatever it begins with. */
const MAX_CHARS = 4_000;
const OPENING_CHARS = 200;
/** What an error befell, behind the word: "Error executing query: ...". */
const DURING =
  'while|when|in|executing|running|calling|fetching|reading|writing|opening|querying|connecting|parsing|processing';
const NOTHING = '(?:none|null|no|0)\\s{0,4}(?:\\n|$)';
const OPENINGS = [
  // "Database error: ...", "Error (404): ..."
  `(?:an? )?(?:[\\w.-]{1,40} ){0,2}error(?: (?:${DURING})\\b[^\\n:]{0,80}| \\(?-?\\d{1,6}\\)?)?: (?!${NOTHING})`,
  // "sqlite3.OperationalError: ..."
  '[\\w.]{1,80}(?:error|exception): \\S',
  "failed to \\w|unable to \\w|could ?n[o\u2019']t \\w|fatal: \\S|(?:access|permission) denied\\b",
  // "HTTP 403 Forbidden", "Request failed with status code 500"
  'http(?:/[\\d.]{1,3})?(?: error| status)?:? [45]\\d\\d(?: [a-z-]{1,20}){0,4} {0,4}(?::|\\n|$)|(?:request|call) failed\\b',
];
const OPENING = new RegExp(`^\\W{0,4}(?:${OPENINGS.join('|')})`, 'i');
/** Words before "error" with which a line reports on errors. */
const REPORT = /^\W{0,4}(?:last|latest|first|no|total|known|common|mean|average|max|type of|number of) /i;

/** Whether a call that succeeded by the protocol says that it failed. */
export function looksFailed({ success, text, value, images }: Ending): boolean {
  if (!success || images.length > 0 || text.length > MAX_CHARS) return false;
  if (reportsFailure(value) || toolOutcome({ response: text }).failed) return true;
  const opening = text.slice(0, OPENING_CHARS);
  return isSystemError(opening) || (OPENING.test(opening) && !REPORT.test(opening));
}

const JSEND_MEMBERS = ['status', 'message', 'code', 'data'];

/** An error member, JSend's error, a problem of RFC 9457, GraphQL's errors without data, or a result that is one of them. */
function reportsFailure(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { success, status, message, title, type, detail, data, errors, result } = value;
  const names = Object.keys(value);
  if (success === false || toolOutcome({ response: value }).failed) return true;
  if (status === 'error' && typeof message === 'string')
    return names.every((name) => JSEND_MEMBERS.includes(name));
  if (data === null && Array.isArray(errors) && errors.length > 0) return true;
  const isProblem = typeof title === 'string' && (typeof type === 'string' || typeof detail === 'string');
  if (isProblem && typeof status === 'number') return status >= 400 && status < 600;
  return names.length === 1 && result !== undefined && reportsFailure(result);
}

const SYSTEM_ERRORS: ReadonlySet<string> = new Set(Object.keys(constants.errno));

/** "EACCES: permission denied, open ..." */
function isSystemError(opening: string): boolean {
  return SYSTEM_ERRORS.has(/^\W{0,4}(E[A-Z\d]{2,14}): \S/.exec(opening)?.[1] ?? '');
}

/** The message to the model about such results. */
export function looksFailedNotice(toolNames: readonly string[]): string {
  const names = [...new Set(toolNames)].join(', ');
  return `${NOTICES.looksFailed} ${names}, although the server did not mark it as one. Read it as a failed call: correct the arguments, or say that it failed.`;
}
