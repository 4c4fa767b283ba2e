import { isObject } from '../../json/index.ts';
import { verbStemOf } from '../language/index.ts';
import { shareOf } from './asked-for.ts';
import { outcomeOf, unwrapped } from './outcome.ts';
import { oddCalls } from './part-ends.ts';
import { idsIn } from './sentences.ts';
import type { ReadStep, TraceStep } from './types.ts';
import { actsIn, readsOnly, wordsOfName } from './words.ts';

const MAX_NAMES = 6;
const MAX_STEP_CHARS = 16_384;
/** Of all results, and of all arguments, at most this many characters are read; of those before, only the beginning. */
const MAX_RESULT_CHARS = 32_768;
const MAX_ARGUMENT_CHARS = 12_288;
const MIN_CHARS = 300;
/** Of the shortest member of a list that says how it ended. */
const MIN_PART_CHARS = 16;
/** Objects around a list or a record. */
const MAX_ENVELOPES = 2;
const MAX_WIDTH = 1000;

/** Reads steps, the last ones first in case there is more than can be read. */
export function readSteps(steps: readonly TraceStep[], first: number): readonly ReadStep[] {
  let [results, args] = [MAX_RESULT_CHARS, MAX_ARGUMENT_CHARS];
  const read: ReadStep[] = [];
  const done = new Set<string>();
  // What later calls were given: one that has all of a failed call did its work another way.
  const others: ReadonlySet<string>[] = [];
  // What later reads say.
  let seen = '';
  for (let i = steps.length - 1; i >= 0; i--) {
    const step = steps[i] as TraceStep;
    const one = readStep(step, first + i, Math.max(results, MIN_CHARS), Math.max(args, MIN_CHARS));
    results -= sizeOf(step.result, one.text);
    args -= sizeOf(step.arguments, one.argumentsText);
    const key = `${one.tool} ${one.target}`;
    const isSeen = one.isBad && one.outcome === 'empty' && isDoneIn(one, seen);
    if (one.isRead && one.outcome === 'ok')
      seen = `${seen}${one.text.slice(0, MAX_SEEN_CHARS)}`.slice(0, 4 * MAX_SEEN_CHARS);
    const isRetried = done.has(key) || (one.isBad && others.some((ids) => isOfSame(one.ids, ids)));
    read.push(isRetried || isSeen ? { ...one, isRetried, isBad: one.isBad && !isSeen } : one);
    if (one.outcome !== 'ok') continue;
    done.add(key);
    if (!one.isRead && others.length < MAX_OTHERS) others.push(one.ids);
  }
  const odd = oddCalls(read.filter((step) => !step.isOpaque && !RUNS.test(step.tool)));
  return read.reverse().map((step) => (odd.has(step) ? { ...step, outcome: 'failed', isBad: true } : step));
}

const MAX_SEEN_CHARS = 2000;
/** A call without an answer did what a later look shows: `closed` after `close_dispute`. */
const isDoneIn = ({ stems }: ReadStep, seen: string): boolean =>
  seen !== '' && [...stems].some((stem) => stem.length > 2 && seen.toLowerCase().includes(`${stem}ed`));

const MAX_OTHERS = 16;
/** More than the one thing that several calls may be about. */
const isOfSame = (failed: ReadonlySet<string>, later: ReadonlySet<string>): boolean =>
  failed.size > 1 && [...failed].every((id) => later.has(id));

const RUNS = /^(?:sql|query|db|database|shell|bash|sh|exec|execute|terminal|command|cmd|run)$/;
const QUERY =
  /^\s{0,8}(?:(?:select|show|describe|explain|pragma)\s(?![\s\S]{0,4000}(?:;\s{0,4}\w|\binto\b|\bpg_(?:terminate|cancel)))|(?:ls|cat|du|df|head|tail|grep|rg|wc|ps|stat|pwd|git (?:log|status|diff|show|blame))(?![\w-])(?![\s\S]{0,4000}(?:>|;|&|`|\$\(|\btee\b|xargs|-delete|-exec)))/i;
const MAX_COMMAND_CHARS = 4000;
/** `SELECT … FROM …`, `du -ah build | sort`: a command that only reads. */
function isQuery(args: unknown): boolean {
  const command =
    typeof args === 'object' && args !== null
      ? Object.values(args)
          .slice(0, MAX_NAMES)
          .find((one) => typeof one === 'string')
      : args;
  return typeof command === 'string' && command.length <= MAX_COMMAND_CHARS && QUERY.test(command);
}

const SETS = /^(?:set|new|action|op|operation|changes)$/i;
const GETS = /^(?:get|list|read|find|search|show|view|check|status|query|info)/i;
const STATEMENT = /(?<![a-z_])(?:update|insert|delete|merge|create|drop|alter|truncate|into)\s/i;
/** Whether the arguments of a call that is named for what it looks at say that it changes something. */
function changes(args: unknown, runs: boolean): boolean {
  if (typeof args !== 'object' || args === null) return false;
  return Object.entries(args)
    .slice(0, MAX_NAMES)
    .some(([key, value]) => {
      if (SETS.test(key)) return value !== null && !(typeof value === 'string' && GETS.test(value));
      return runs && typeof value === 'string' && STATEMENT.test(value.slice(0, MAX_COMMAND_CHARS));
    });
}

const within = (value: unknown, room: number) => (typeof value === 'string' ? value.slice(0, room) : value);
/** A value with the first members of its lists: of results that are too much to read, only the beginning is read. */
function withFewParts(value: unknown, most: number, depth = 0): unknown {
  if (Array.isArray(value)) return value.length > most ? value.slice(0, most) : value;
  if (!isObject(value) || depth > MAX_ENVELOPES) return value;
  const entries = Object.entries(value);
  const cut = entries.map(([key, member]) => [key, withFewParts(member, most, depth + 1)] as const);
  return cut.every(([, member], i) => member === entries[i]?.[1]) ? value : Object.fromEntries(cut);
}

/** A record with its first keys: to list those of a very wide one takes a millisecond each time. */
function narrowed(value: unknown, depth = 0): unknown {
  if (!isObject(value) || depth > MAX_ENVELOPES) return value;
  const keys = Object.keys(value);
  let isCut = keys.length > MAX_WIDTH;
  const members = keys.slice(0, MAX_WIDTH).map((key) => {
    const member = narrowed(value[key], depth + 1);
    isCut ||= member !== value[key];
    return [key, member] as const;
  });
  return isCut ? Object.fromEntries(members) : value;
}

const sizeOf = (value: unknown, text: string) => (typeof value === 'string' ? value : text).length;

function readStep(given: TraceStep, index: number, room: number, argumentsRoom: number): ReadStep {
  // Steps may come from JSON of others: a call without a name has none.
  const step = {
    ...given,
    tool: typeof given.tool === 'string' ? given.tool : '',
    result: within(given.result, room),
  };
  const nameWords = wordsOfName(step.tool);
  const acts = actsIn(nameWords, step.tool);
  const runs = nameWords.some((word) => RUNS.test(word));
  const isNamedRead =
    readsOnly(nameWords, acts, step.tool) && !(acts.size === 0 && changes(given.arguments, runs));
  const isRead = isNamedRead || (runs && isQuery(given.arguments));
  const value = narrowed(unwrapped(step.result));
  const read = outcomeOf(step, withFewParts(value, Math.ceil(room / MIN_PART_CHARS)));
  const { hadNoEffect = false } = read;
  const isFailedState = isRead && read.isState === true;
  const args = narrowed(unwrapped(within(given.arguments, argumentsRoom)));
  const argumentsText = shortText(args, argumentsRoom);
  const text = shortText(value, room);
  // Of several things that a call was to do it did some, or none.
  const share = isRead || read.outcome !== 'ok' ? undefined : shareOf({ arguments: args, value, text });
  const outcome = isFailedState
    ? 'ok'
    : share === undefined
      ? read.outcome
      : share.isNone
        ? 'failed'
        : 'partial';
  const members =
    typeof args === 'object' && args !== null ? Object.values(args).slice(0, MAX_NAMES) : [args];
  // A list is what is done to the thing, not the thing.
  const first = Array.isArray(members[0])
    ? (members.find((one) => typeof one === 'string' && /\d{4}/.test(one)) ?? members[0])
    : members[0];
  return {
    index,
    tool: step.tool,
    outcome,
    isOpaque: given.isOpaque === true,
    isFailedState,
    count: share?.count ?? (outcome === 'partial' ? read.done : undefined),
    isBad: outcome === 'failed' || (outcome === 'empty' && hadNoEffect && !isRead),
    isRead,
    acts,
    stems: new Set(nameWords.map(verbStemOf)),
    isRetried: false,
    value,
    arguments: args,
    text,
    argumentsText,
    names: members.flatMap((one) =>
      typeof one === 'string' && one.length > 2 && one.length < 40 ? [one.toLowerCase()] : [],
    ),
    ids: idsIn(argumentsText),
    parts: Math.max(0, ...members.map((one) => (Array.isArray(one) ? one.length : 0))),
    target: shortText(first, argumentsRoom),
  };
}

/** A value as JSON-like text of bounded length: head and, of long texts, tail. */
function shortText(value: unknown, room: number): string {
  let left = Math.min(room, MAX_STEP_CHARS);
  const parts: string[] = [];
  const put = (text: string) => {
    parts.push(text.slice(0, left));
    left -= text.length;
  };
  const walk = (part: unknown, depth: number): void => {
    if (left <= 0) return;
    if (typeof part === 'string') put(depth === 0 ? part : `"${part}"`);
    else if (typeof part !== 'object' || part === null) put(String(part));
    else if (depth > 12) put('…');
    else if (Array.isArray(part))
      for (const item of part) {
        if (left <= 0) return;
        walk(item, depth + 1);
        // "212,184" would be one number.
        put(typeof item === 'number' ? ', ' : ',');
      }
    else
      for (const key in part) {
        if (left <= 0) return;
        put(`"${key}":`);
        walk((part as Record<string, unknown>)[key], depth + 1);
        put(',');
      }
  };
  if (typeof value === 'string' && value.length > MAX_STEP_CHARS)
    return `${value.slice(0, MAX_STEP_CHARS / 2)}\n${value.slice(-MAX_STEP_CHARS / 2)}`;
  walk(value, 0);
  return parts.join('');
}
