/**
 * Patterns of schemas, each on an engine whose work on a text is known beforehand.
 *
 * Most patterns have no alternatives and at most one repeat, such as `^[a-z0-9-]{1,64}$`. Anchored at the start, V8 runs
 * them in at most length of the text times length of the pattern. All others run on RE2's automaton (linear-regexp.ts),
 * whose work is length of the text times size of the program.
 */
import { compileLinear } from '../linear-regexp.ts';
import { SchemaRefusedError } from './refused.ts';
import type { StepBudget } from './steps.ts';

/** A pattern that pays for its work. */
export type PatternTest = (text: string, budget: StepBudget) => boolean;

const MAX_CHARS = 2_048;
/** Compiling one instruction of an automaton takes about 10 microseconds at first. */
const STEPS_PER_INSTRUCTION = 400;
/** Compiling the smallest automaton. */
const AUTOMATON_STEPS = 6_000;

/**
 * Compiles a pattern.
 * @param onUnchecked takes a pattern that no engine here can run, which is then left to the server.
 * @returns undefined for such a pattern.
 * @throws SchemaRefusedError for one that is too large; without `onUnchecked` also for one that cannot be run.
 */
export function compilePattern(
  pattern: string,
  budget: StepBudget,
  onUnchecked?: ((pattern: string) => void) | undefined,
): PatternTest | undefined {
  if (pattern.length > MAX_CHARS) {
    throw new SchemaRefusedError(
      `A pattern has ${pattern.length} characters; at most ${MAX_CHARS} are compiled`,
    );
  }
  try {
    return compileParts(pattern, budget);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    if (onUnchecked === undefined) throw new SchemaRefusedError(cause.message, { cause });
    onUnchecked(pattern);
    return undefined;
  }
}

/**
 * A pattern, or what its look-aheads at the start of the text and the rest of it say by themselves: `^(?!\\.)[a-z.]+$`
 * matches where `^(?:\\.)` does not and `^[a-z.]+$` does. zod writes addresses so. No automaton runs a look-ahead itself.
 */
function compileParts(pattern: string, budget: StepBudget): PatternTest {
  const { ahead, rest } = lookAheads(withPlainEscapes(pattern));
  const tests = ahead.map(({ source, isWanted }) => ({
    test: compileOne(`^(?:${source})`, budget),
    isWanted,
  }));
  const last = compileOne(rest, budget);
  if (tests.length === 0) return last;
  return (text, run) => tests.every(({ test, isWanted }) => test(text, run) === isWanted) && last(text, run);
}

/** Escapes of characters that need none, which ECMAScript takes without the flag `u` only: `\\@` is `@`. */
function withPlainEscapes(pattern: string): string {
  return pattern.replace(/\\[\s\S]/g, (escaped) =>
    /^\\[@_#%&,:;<=>~`!"' ]$/.test(escaped) ? escaped.charAt(1) : escaped,
  );
}

interface LookAhead {
  readonly source: string;
  readonly isWanted: boolean;
}

/** The look-aheads that a pattern begins with after its `^`, and the pattern without them. */
function lookAheads(pattern: string): { readonly ahead: readonly LookAhead[]; readonly rest: string } {
  const ahead: LookAhead[] = [];
  let at = 1;
  while (pattern.startsWith('^') && /^\(\?[=!]/.test(pattern.slice(at, at + 3))) {
    const end = endOfGroup(pattern, at);
    ahead.push({ source: pattern.slice(at + 3, end - 1), isWanted: pattern.charAt(at + 2) === '=' });
    at = end;
  }
  // An alternative would have the look-aheads in its first branch alone.
  if (ahead.length === 0 || hasAlternatives(pattern, at)) return { ahead: [], rest: pattern };
  return { ahead, rest: `^${pattern.slice(at)}` };
}

/** Behind the parenthesis that closes the group at a place. */
function endOfGroup(pattern: string, start: number): number {
  let depth = 0;
  for (let at = start; at < pattern.length; at = nextAtom(pattern, at)) {
    if (pattern.charAt(at) === '(') depth += 1;
    if (pattern.charAt(at) === ')') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return pattern.length;
}

function hasAlternatives(pattern: string, start: number): boolean {
  let depth = 0;
  for (let at = start; at < pattern.length; at = nextAtom(pattern, at)) {
    const char = pattern.charAt(at);
    if (char === '|' && depth === 0) return true;
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
  }
  return false;
}

/** Behind an escape, a class or a character. */
function nextAtom(pattern: string, at: number): number {
  const char = pattern.charAt(at);
  if (char === '\\') return at + 2;
  return char === '[' ? endOfClass(pattern, at) : at + 1;
}

/** @throws SyntaxError for what is not ECMAScript or cannot run in linear time. */
function compileOne(pattern: string, budget: StepBudget): PatternTest {
  const prefix = /^\^([A-Za-z0-9_/:@ -]+)(\$?)$/.exec(pattern);
  if (prefix !== null) {
    const [, literal = '', end] = prefix;
    const isMatch =
      end === '' ? (text: string) => text.startsWith(literal) : (text: string) => text === literal;
    return (text, run) => {
      run.spend(1);
      return isMatch(text);
    };
  }
  const size = patternSize(pattern);
  if (size.isSimple) {
    const expression = new RegExp(pattern, 'u');
    const steps = (1 + size.tail) / 16;
    budget.spend(size.startup);
    return (text, run) => {
      run.spend(2 + text.length * steps);
      return expression.test(text);
    };
  }
  budget.spend(AUTOMATON_STEPS + STEPS_PER_INSTRUCTION * size.instructions);
  const automaton = compileLinear(pattern);
  const steps = 2 + size.instructions / 3;
  return (text, run) => {
    run.spend(20 + text.length * steps);
    return automaton.test(text);
  };
}

export interface PatternSize {
  /** About the instructions of its automaton: characters and classes, as often as they are repeated. */
  readonly instructions: number;
  /** Anchored, without groups and alternatives, at most one repeat of variable length. */
  readonly isSimple: boolean;
  /** Steps V8 takes to compile it; a class such as \p{L} holds hundreds of ranges. */
  readonly startup: number;
  /** Characters after that repeat: they are tried anew for each length of it. */
  readonly tail: number;
}

const QUANTIFIER = /[*+?]\??|\{(\d+)(,?)(\d*)\}\??/y;
const ESCAPE = /\\(?:u\{[0-9a-f]+\}|u[0-9a-f]{4}|x[0-9a-f]{2}|[pP]\{[^}]*\}|c[a-z]|k<[^>]*>|.)/isy;

/** @throws SyntaxError when it is not an ECMAScript pattern. */
export function patternSize(pattern: string): PatternSize {
  new RegExp(pattern, 'u');
  /** Instructions of the open groups, outermost first. */
  const open: number[] = [];
  let instructions = 0;
  let variable = 0;
  let tail = 0;
  let isSimple = pattern.startsWith('^');
  for (let at = isSimple ? 1 : 0; at < pattern.length; ) {
    let atom = 1;
    const char = pattern.charAt(at);
    if (char === '(') {
      isSimple = false;
      open.push(instructions);
      instructions = 0;
      at += 1;
      const opening = /\?(?:[:=!]|<[=!]|<[^>]*>)/y;
      opening.lastIndex = at;
      if (opening.test(pattern)) at = opening.lastIndex;
      continue;
    }
    if (char === '|') {
      isSimple = false;
      instructions += 1;
      at += 1;
      continue;
    }
    if (char === ')') {
      atom = instructions + 2;
      instructions = open.pop() ?? 0;
      at += 1;
    } else if (char === '\\') {
      ESCAPE.lastIndex = at;
      ESCAPE.test(pattern);
      // Back references are left to the automaton, which refuses them.
      if (/[1-9kbB]/.test(pattern.charAt(at + 1))) isSimple = false;
      atom = /[pPsS]/.test(pattern.charAt(at + 1)) ? 8 : 1;
      at = ESCAPE.lastIndex;
    } else if (char === '[') {
      const end = endOfClass(pattern, at);
      atom = 1 + (end - at) / 8;
      at = end;
    } else {
      at += 1;
    }
    QUANTIFIER.lastIndex = at;
    const quantifier = QUANTIFIER.exec(pattern);
    if (quantifier === null) {
      instructions += atom;
      if (variable > 0) tail += 1;
      continue;
    }
    at = QUANTIFIER.lastIndex;
    const [text, low, comma, high] = quantifier;
    const times = low === undefined ? 1 : Math.max(Number(low), Number(high ?? 0), 1);
    instructions += (atom + 1) * times;
    if (low !== undefined && comma === '') tail += variable > 0 ? times : 0;
    else variable += 1;
    if (text.length === 0) break;
  }
  const startup = 800 + 4 * pattern.length + 8_000 * (pattern.match(/\\p/gi)?.length ?? 0);
  return { instructions, isSimple: isSimple && variable <= 1, startup, tail };
}

function endOfClass(pattern: string, start: number): number {
  for (let at = start + 1; at < pattern.length; at += 1) {
    const char = pattern.charAt(at);
    if (char === '\\') at += 1;
    else if (char === ']') return at + 1;
  }
  return pattern.length;
}
