import { isObject } from '../../json/index.ts';
import { toVerbStem } from '../language/index.ts';
import { ACTS, READS, wordsOfName } from '../phrases/index.ts';
import { readOutcome } from './outcome.ts';
import { textOfValue, unwrapped } from './plain-text.ts';
import type { ReadStep, StepEnd, TraceStep } from './types.ts';

const MAX_STEPS = 100;
/** Of one result, of all of them and of all arguments at most this many characters are read; of those before, only the beginning. */
const MAX_STEP_CHARS = 24_576;
const MAX_RESULT_CHARS = 32_768;
const MAX_ARGUMENT_CHARS = 16_384;
const MIN_CHARS = 200;
const MAX_NAMES = 12;
const MAX_COMMAND_CHARS = 4000;

/** Reads steps, the last ones first in case there is more than can be read. */
export function readSteps(given: readonly TraceStep[]): readonly ReadStep[] {
  const first = Math.max(0, given.length - MAX_STEPS);
  const steps: ReadStep[] = [];
  let [results, args] = [MAX_RESULT_CHARS, MAX_ARGUMENT_CHARS];
  for (let i = given.length - 1; i >= first; i--) {
    const step = readStep(given[i] as TraceStep, i, Math.max(results, MIN_CHARS), Math.max(args, MIN_CHARS));
    results -= step.text.length;
    args -= step.argumentsText.length;
    steps.push(
      step.isBad || step.outcome === 'partial' ? { ...step, isRepaired: isRepaired(step, steps) } : step,
    );
  }
  return steps.reverse();
}

const MAX_LATER = 32;
/** Whether a later call did what this one did not: by the same tool for the same thing, or by another one with all of its ids. */
const isRepaired = ({ tool, target, isRead, ids }: ReadStep, later: readonly ReadStep[]): boolean =>
  later
    .slice(-MAX_LATER)
    .some(
      (one) =>
        one.outcome === 'ok' &&
        !one.isListing &&
        ((one.tool === tool && one.target === target) ||
          (one.isRead === isRead &&
            (ids.size > 1 || [...ids].some((id) => A_PLACE.test(id))) &&
            [...ids].every((id) => one.ids.has(id)))),
    );
/** A path, a file or an address: one is enough to tell a thing. */
const A_PLACE = /\/|^[^/]{1,60}\.[a-z]{2,4}$/;

function readStep(given: TraceStep, index: number, room: number, argumentsRoom: number): ReadStep {
  // Steps may come from JSON of others: a call without a name has none.
  const tool = typeof given.tool === 'string' ? given.tool : '';
  const toolWords = wordsOfName(tool);
  const acts = new Set(toolWords.flatMap((word) => ACTS.of(word)));
  // `cancel_order` orders nothing.
  if (acts.has('cancel')) acts.delete('create');
  const value = unwrapped(given.result);
  const args = unwrapped(given.arguments);
  const isRead =
    (isOnlyLooking(tool, toolWords, acts) && !(acts.size === 0 && changes(args))) || isQuery(toolWords, args);
  const stepRoom = Math.min(room, MAX_STEP_CHARS);
  const text = textOfValue(value, stepRoom);
  const isListing = describesTools(text);
  const end = findEnd(given, value, toolWords, isRead);
  const argumentsText = textOfValue(args, argumentsRoom);
  const members = isObject(args) ? Object.values(args).slice(0, MAX_NAMES) : [args];
  // Of a call that looks, the failure is that of a thing.
  const outcome = isRead && end.outcome === 'failed' && end.isState === true ? 'ok' : end.outcome;
  return {
    index,
    tool,
    toolWords,
    stems: new Set(toolWords.map(toVerbStem)),
    acts,
    isRead: isRead || isListing,
    isListing,
    isOpaque: given.isOpaque === true,
    outcome,
    isBad: outcome === 'failed' || (outcome === 'empty' && end.hadNoEffect === true && !isRead),
    isRepaired: false,
    value,
    arguments: args,
    text,
    argumentsText,
    given: isRead ? argumentsText : textOfValue(withoutTexts(args), argumentsRoom),
    lower: `${text}\n${argumentsText}`.toLowerCase(),
    isCut: saysPart(value, text) || (typeof value === 'string' ? value.length : text.length) >= stepRoom,
    ids: idsIn(argumentsText),
    names: members.flatMap((one) => (typeof one === 'string' && one.length < 60 ? listNames(one) : [])),
    target: textOfValue(members.find(isShort) ?? members[0], MIN_CHARS),
    runsCommands: findCommand(toolWords, args) !== undefined,
  };
}

/** A text, and of an address what stands before its `@`. */
const listNames = (text: string): readonly string[] => [
  text.toLowerCase(),
  ...text.toLowerCase().split('@', 1),
];

/** Not the text that a file was to get. */
const isShort = (member: unknown): boolean =>
  typeof member !== 'string' || (member.length < MIN_CHARS && !member.includes('\n'));

const MAX_GIVEN_CHARS = 400;
/** Arguments without the documents that a call was given to write: those are the model's own words. */
const withoutTexts = (args: unknown): unknown =>
  isObject(args)
    ? Object.fromEntries(
        Object.entries(args).filter(
          ([, value]) => !(typeof value === 'string' && value.length > MAX_GIVEN_CHARS),
        ),
      )
    : args;

function findEnd(given: TraceStep, value: unknown, toolWords: readonly string[], isRead: boolean): StepEnd {
  if (given.isError === true) return { outcome: 'failed' };
  if (given.isOpaque === true) return { outcome: 'ok' };
  return readOutcome(value, toolWords, isRead);
}

const PART = /(?:\btruncated\b|\.{3}|…)[\])"'}>\s\\n]{0,12}$|(?:\.{3}|…)\s?\(?(?:and )?\d[\d,]{0,9} more\b/i;
/** Whether a result is not the whole: it says so, or is JSON that was cut. */
const saysPart = (value: unknown, text: string): boolean =>
  PART.test(text.slice(-PART_CHARS)) ||
  (typeof value === 'string' && /^[[{]\s{0,40}["{[]/.test(value) && !/[\]}]$/.test(value));
const PART_CHARS = 300;

const SCHEMA_KEY = /["'\s](?:input_?schema|tool_description)["']?\s{0,2}:/i;
/** Whether a result lists tools, as that of a search for one does. */
const describesTools = (text: string): boolean => SCHEMA_KEY.test(text.slice(0, MAX_COMMAND_CHARS));

const PREFIXES: ReadonlySet<string> = new Set(['mcp', 'tool', 'api', 'do', 'server']);
/** Whether a tool only looks, so far as its name tells. */
function isOnlyLooking(tool: string, words: readonly string[], acts: ReadonlySet<string>): boolean {
  const own = tool.split(/[.:/]|__/).at(-1) ?? tool;
  const [first, second] = wordsOfName(own).filter((word) => !PREFIXES.has(word));
  if (first === undefined) return false;
  if (first === 'check' && /^(?:in|out)$/.test(second ?? '')) return false;
  // `open_webpage` reads it, and `list_add` changes a list.
  if (first === 'open' && /^(?:web)?(?:page|site|url|link|document|doc)$/.test(second ?? '')) return true;
  if (first === 'list' && /^(?:add|append|insert|remove|delete|clear)$/.test(second ?? '')) return false;
  if (READS.hasWord(first)) return true;
  return (
    acts.size === 0 &&
    !/^(?:open|close|process)$/.test(first) &&
    (words.some((word) => READS.hasWord(word)) || /[a-z]{3}s$/.test(first))
  );
}

/** The arguments of a call that is named for what it looks at say that it changes something: `{action: 'add'}`, `{set: 40}`. */
const changes = (args: unknown): boolean =>
  isObject(args) &&
  Object.entries(args).some(([key, value]) =>
    typeof value === 'string'
      ? STATEMENT.test(value) ||
        (NAMES_ACT.test(key) && wordsOfName(value).some((word) => ACTS.of(word).length > 0))
      : key === 'set' && value !== null,
  );
const NAMES_ACT = /^(?:action|operation|op|method|mode|command)$/i;
/** SQL that changes something. */
const STATEMENT =
  /^\s{0,8}(?:insert\s{1,8}into|update\s{1,8}\S{1,200}\s{1,8}set|delete\s{1,8}from|merge\s{1,8}into|(?:create|drop|alter|truncate)\s{1,8}(?:or\s{1,8}replace\s{1,8})?(?:table|view|index|schema|database))\b/i;

const RUNS = /^(?:sql|query|db|database|shell|bash|sh|exec|execute|terminal|command|cmd|run)$/;
const QUERY =
  /^(?:select|show|describe|explain|with)\s(?![^;]{0,400}\b(?:insert|update|delete|drop|alter)\b)/i;
const LOOK = /^(?:ls|cat|du|df|grep|find|head|tail|wc|ps|stat|git (?:log|status|diff|show))(?:\s|$)/i;
/** `SELECT … FROM …`, `du -ah build`: a command that only reads. */
function isQuery(toolWords: readonly string[], args: unknown): boolean {
  const command = findCommand(toolWords, args) ?? '';
  return QUERY.test(command) || LOOK.test(command);
}

/** What a tool that runs any command was given to run. */
function findCommand(toolWords: readonly string[], args: unknown): string | undefined {
  if (!toolWords.some((word) => RUNS.test(word))) return undefined;
  const command = isObject(args) ? Object.values(args).find((one) => typeof one === 'string') : args;
  return typeof command === 'string' ? command.slice(0, MAX_COMMAND_CHARS) : undefined;
}

const ID =
  /(?:https?:\/\/|~?\/)[^\s"'<>|,]{2,200}|(?<![A-Za-z_])[A-Za-z_]{0,40}\d[A-Za-z0-9_-]{2,60}|(?<![\w-])[\w-]{1,60}\.[a-z]{2,4}\b/g;
const MAX_IDS = 200;

/** Paths, addresses, names of files, words with digits: in lower case. */
export function idsIn(text: string): Set<string> {
  const ids = new Set<string>();
  for (const match of text.matchAll(ID)) {
    if (ids.size >= MAX_IDS) break;
    ids.add(match[0].replace(/[.)\]`]+$/, '').toLowerCase());
  }
  return ids;
}
