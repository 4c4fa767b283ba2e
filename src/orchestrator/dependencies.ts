import { beginningOfJson, isObject, stringAt } from '../json/index.ts';
import type { ToolChainEntry } from './result.ts';
import { holdsWord, type Member, memberGroups, plainKey, searchWork } from './result-members.ts';

/** Bounds of the search, so that its cost does not grow with the size of results or the length of a run. */
const MAX_VALUES = 24;
const MAX_VALUE_CHARS = 2_000;
/** Longer values are not looked for as a whole, only for what they hold. */
const MAX_WHOLE_CHARS = 500;
/** Characters searched for one call. The newest results are searched first. */
const MAX_WORK = 4_000_000;
const WORK_OF_CHECK = 100;
/** Characters of the prompt, which is searched only for values that are found, per unit of work. */
const CHARS_PER_WORK = 4;
const MAX_RESULT_CHARS = 20_000;
const MAX_PROMPT_CHARS = 100_000;
const MAX_RESULTS = 40;
/** Shorter values turn up in texts by chance; they count only under the same key. */
const MIN_TEXT_CHARS = 4;
/** Keys that name whatever object they are in. */
const GENERIC = new Set(['id', 'key', 'name', 'code', 'number', 'uuid', 'path', 'uri', 'url']);

interface Argument {
  readonly key: string;
  readonly text: string;
}

interface KnownResult {
  readonly text: string;
  readonly members: readonly Member[];
  /** Names that stand on lines of their own, as in a list of files. */
  readonly listed: readonly string[];
  /** Values of the call's own arguments: a result that repeats them did not bring them up. */
  readonly asked: ReadonlySet<string>;
}

/**
 * Where the arguments of calls come from: the earlier results that brought up a value. Values that the prompt already
 * holds come from there, a failed call gives none, and a result that repeats the arguments of its own call counts only
 * if no other result has the value. A value that the model reworded is not found.
 */
export class Dependencies {
  readonly #prompt: string;
  readonly #results: (KnownResult | undefined)[] = [];
  #work = 0;

  /** @param prompts what the model was given before the first call. */
  constructor(...prompts: readonly string[]) {
    this.#prompt = prompts.join('\n').slice(0, MAX_PROMPT_CHARS);
  }

  add({ success, result, arguments: args }: Pick<ToolChainEntry, 'success' | 'result' | 'arguments'>): void {
    const forgotten = this.#results.length - MAX_RESULTS;
    if (forgotten >= 0) this.#results[forgotten] = undefined;
    if (!success) {
      this.#results.push(undefined);
      return;
    }
    this.#results.push({
      text:
        typeof result === 'string'
          ? result.slice(0, MAX_RESULT_CHARS)
          : beginningOfJson(result, MAX_RESULT_CHARS),
      members: memberGroups(result).flatMap(({ members }) => members),
      listed: listedNames(result),
      asked: new Set(readArguments(args).map((argument) => argument.text)),
    });
  }

  /** Positions in the chain of the results that the arguments of a call quote. */
  of(args: Readonly<Record<string, unknown>>): number[] {
    const found = new Set<number>();
    this.#work = 0;
    const first = Math.max(0, this.#results.length - MAX_RESULTS);
    for (const argument of readArguments(args)) {
      if (holdsWord(this.#prompt, argument.text)) continue;
      const echoes: number[] = [];
      let isBrought = false;
      for (let index = this.#results.length - 1; index >= first; index -= 1) {
        const known = this.#results[index];
        if (known === undefined || !this.#quotes(argument, known)) continue;
        if (known.asked.has(argument.text)) echoes.push(index);
        else {
          isBrought = true;
          found.add(index);
        }
      }
      const earliest = echoes.at(-1);
      if (!isBrought && earliest !== undefined) found.add(earliest);
    }
    return [...found].sort((left, right) => left - right);
  }

  #quotes({ key, text }: Argument, known: KnownResult): boolean {
    const isWord = text.length >= MIN_TEXT_CHARS && text.length <= MAX_WHOLE_CHARS;
    if (isWord && this.#afford(searchWork(known.text, text)) && holdsWord(known.text, text)) return true;
    if (known.listed.some((name) => this.#isPart(name, text, known))) return true;
    return known.members.some((member) => {
      if (!this.#afford(text.length)) return false;
      const value = String(member.value);
      if (text === value || text === value.split(' ', 1)[0]) return isSameKey(key, member);
      // A value inside a longer argument: a table name in SQL, a folder in a path.
      // A short one must be in quotes, as ids do in SQL.
      const isInside =
        value.length < MIN_TEXT_CHARS
          ? value.length > 1 && (text.includes(`'${value}'`) || text.includes(`"${value}"`))
          : value.length < text.length && this.#afford(searchWork(text, value)) && holdsWord(text, value);
      return isInside && !known.asked.has(value) && this.#isNew(value);
    });
  }

  /** Whether a listed name is in an argument: the name of a file at the end of a path. */
  #isPart(name: string, text: string, known: KnownResult): boolean {
    if (name.length >= text.length || !this.#afford(searchWork(text, name))) return false;
    return holdsWord(text, name) && !known.asked.has(name) && this.#isNew(name);
  }

  #isNew(value: string): boolean {
    this.#work += this.#prompt.length / CHARS_PER_WORK;
    return this.#work <= MAX_WORK && !holdsWord(this.#prompt, value);
  }

  #afford(chars: number): boolean {
    this.#work += chars + WORK_OF_CHECK;
    return this.#work <= MAX_WORK;
  }
}

function isSameKey(argumentKey: string, { key, parent }: Member): boolean {
  const [asked, given] = [plainKey(argumentKey), plainKey(key)];
  if (asked === given || asked === plainKey(parent) + given) return true;
  if (GENERIC.has(given)) return parent === '' && asked.endsWith(given);
  return GENERIC.has(asked) && given.endsWith(asked);
}

function readArguments(args: unknown): Argument[] {
  const found: Argument[] = [];
  const queue: { readonly key: string; readonly value: unknown }[] = [{ key: '', value: args }];
  // Breadth first and bounded: arguments may be deep or wide.
  for (let index = 0; index < queue.length && index < 200 && found.length < MAX_VALUES; index += 1) {
    const { key, value } = queue[index] as (typeof queue)[number];
    if (typeof value === 'string' || typeof value === 'number') {
      const text = String(value);
      if (text !== '' && text.length <= MAX_VALUE_CHARS) found.push({ key, text });
    } else if (Array.isArray(value)) {
      for (const item of value.slice(0, 50)) queue.push({ key, value: item });
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, item] of Object.entries(value).slice(0, 50)) queue.push({ key: name, value: item });
    }
  }
  return found;
}

const MAX_LINES = 200;
const MAX_NAME_CHARS = 200;
/** What stands before a name in a list: `[FILE] a.txt`, `- a.txt`, `1. a.txt`. */
const LIST_MARK = /^\s{0,20}(?:\[[A-Z]{1,12}\]|[-*+•]|\d{1,6}[.)])\s+/;

/** Names on lines of their own in the texts of a result: with a mark of a list before them, or with more than letters. */
function listedNames(result: unknown): string[] {
  const names: string[] = [];
  for (const text of textsIn(result)) {
    for (const line of text.slice(0, MAX_RESULT_CHARS).split('\n', MAX_LINES)) {
      if (names.length >= MAX_LINES) return names;
      const mark = LIST_MARK.exec(line)?.[0] ?? '';
      const name = line.slice(mark.length).trim();
      if (name.length < MIN_TEXT_CHARS || name.length > MAX_NAME_CHARS) continue;
      if (mark !== '' || /^\S*[\d./_-]\S*$/.test(name)) names.push(name);
    }
  }
  return names;
}

/** The text of a result, of its blocks, or of the members of its structure. */
function textsIn(result: unknown): string[] {
  if (typeof result === 'string') return [result];
  const values = Array.isArray(result)
    ? result.slice(0, MAX_RESULTS).map((block) => stringAt(block, 'text'))
    : [];
  const members = isObject(result) ? Object.values(result).slice(0, MAX_RESULTS) : [];
  return [...values, ...members].filter((text): text is string => typeof text === 'string');
}
