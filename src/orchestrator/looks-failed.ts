/** Results that say by their text alone that the call failed: many servers report errors without `isError`. */
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
  const isReported = isObject(value) && (value.success === false || toolOutcome({ response: value }).failed);
  if (isReported || toolOutcome({ response: text }).failed) return true;
  const opening = text.slice(0, OPENING_CHARS);
  return OPENING.test(opening) && !REPORT.test(opening);
}

/** The message to the model about such results. */
export function looksFailedNotice(toolNames: readonly string[]): string {
  const names = [...new Set(toolNames)].join(', ');
  return `${NOTICES.looksFailed} ${names}, although the server did not mark it as one. Read it as a failed call: correct the arguments, or say that it failed.`;
}
