/** Many patterns of one text, so that those that cannot match need not be tried one by one. */
import { compileLinearSet } from '../linear-regexp.ts';
import { affixesOf } from './affix.ts';
import { patternSize } from './patterns.ts';
import type { StepBudget } from './steps.ts';

/** Patterns that are tried at once. */
const GROUP_PATTERNS = 32;
/** Characters the patterns of a group may have together. */
const GROUP_CHARS = 1_900;
/** The same for an automaton that begins at the start of the text only. */
const SET_PATTERNS = 1_024;
const SET_CHARS = 65_536;
/** Shorter beginnings and ends say too little. */
const MIN_AFFIX = 2;
/** Patterns that may have the same beginning or end: all of them are tried. */
const MAX_SAME_AFFIX = 8;
/** Lengths of beginnings, and of ends, that are looked up for each text. */
const MAX_LENGTHS = 24;

/** Some of a list of patterns, by their places in it. */
export interface PatternGroup {
  readonly places: readonly number[];
  /** The places of those that may match the text; the others do not. */
  candidates(text: string, budget: StepBudget): readonly number[];
}

/**
 * Puts patterns together, so that a thousand take some microseconds: those with a beginning or end of their own are
 * looked up by it, others are tried many at once, each on the engine it has by itself, so that both say the same.
 * Patterns that cannot be put together are in no group.
 */
export function groupPatterns(patterns: readonly string[]): readonly PatternGroup[] {
  const affixes = patterns.map(affixesOf);
  const all = patterns.map((_, place) => place);
  const bySuffix = lookedUp(
    all,
    affixes.map(({ suffix }) => suffix),
    (text, length) => text.slice(-length),
  );
  const found = new Set(bySuffix?.places);
  const left = all.filter((place) => !found.has(place));
  const byPrefix = lookedUp(
    left,
    affixes.map(({ prefix }) => prefix),
    (text, length) => text.slice(0, length),
  );
  for (const place of byPrefix?.places ?? []) found.add(place);
  const others = all.filter((place) => !found.has(place));
  return [bySuffix, byPrefix].flatMap((group) => group ?? []).concat(triedTogether(others, patterns));
}

/** @param cut the beginning or end of a text */
function lookedUp(
  places: readonly number[],
  affixes: readonly string[],
  cut: (text: string, length: number) => string,
): PatternGroup | undefined {
  const byAffix = new Map<string, number[]>();
  for (const place of places) {
    const affix = affixes[place] ?? '';
    if (affix.length >= MIN_AFFIX) byAffix.set(affix, [...(byAffix.get(affix) ?? []), place]);
  }
  const byLength = new Map<number, number>();
  for (const [affix, same] of byAffix) {
    if (same.length > MAX_SAME_AFFIX) byAffix.delete(affix);
    else byLength.set(affix.length, (byLength.get(affix.length) ?? 0) + same.length);
  }
  const lengths = [...byLength]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_LENGTHS)
    .map(([length]) => length);
  for (const affix of byAffix.keys()) if (!lengths.includes(affix.length)) byAffix.delete(affix);
  const found = [...byAffix.values()].flat();
  if (found.length < 2) return undefined;
  return {
    places: found,
    candidates(text, budget) {
      budget.spend(20 + lengths.length);
      const candidates: number[] = [];
      for (const length of lengths) {
        if (length > text.length) continue;
        const same = byAffix.get(cut(text, length));
        if (same !== undefined) candidates.push(...same);
      }
      return candidates;
    },
  };
}

/** Patterns of one engine, which it tries at once. */
interface Kind {
  readonly isSimple: boolean;
  readonly isAnchored: boolean;
}

const kindOf = (pattern: string): Kind => ({
  isSimple: patternSize(pattern).isSimple,
  isAnchored: affixesOf(pattern).isAnchored,
});

function triedTogether(places: readonly number[], patterns: readonly string[]): readonly PatternGroup[] {
  const groups: PatternGroup[] = [];
  const open = new Map<string, { kind: Kind; places: number[]; chars: number }>();
  const close = (name: string): void => {
    const together = open.get(name);
    open.delete(name);
    if (together !== undefined && together.places.length > 1)
      groups.push(...groupsOf(together.places, patterns, together.kind));
  };
  for (const place of places) {
    const pattern = patterns[place] ?? '';
    const kind = kindOf(pattern);
    const name = `${kind.isSimple} ${kind.isAnchored}`;
    const isSet = !kind.isSimple && kind.isAnchored;
    const room = isSet
      ? { patterns: SET_PATTERNS, chars: SET_CHARS }
      : { patterns: GROUP_PATTERNS, chars: GROUP_CHARS };
    const chars = pattern.length + 5;
    const before = open.get(name);
    if (before !== undefined && (before.places.length >= room.patterns || before.chars + chars > room.chars))
      close(name);
    const together = open.get(name) ?? { kind, places: [], chars: 0 };
    together.places.push(place);
    together.chars += chars;
    open.set(name, together);
  }
  for (const name of [...open.keys()]) close(name);
  return groups;
}

/** One group, or its halves if it is too large for the engine. */
function groupsOf(
  places: readonly number[],
  patterns: readonly string[],
  kind: Kind,
): readonly PatternGroup[] {
  if (places.length < 2) return [];
  const all = places.map((place) => patterns[place] ?? '');
  const steps = all
    .map(patternSize)
    .reduce(
      (sum, { tail, instructions }) => sum + (kind.isSimple ? (1 + tail) / 16 : 2 + instructions / 3),
      0,
    );
  try {
    const matching = kind.isSimple ? allOrNone(all) : compileLinearSet(all, kind.isAnchored);
    matching('');
    const candidates = (text: string, budget: StepBudget): readonly number[] => {
      budget.spend(20 + text.length * steps);
      return matching(text).map((at) => places[at] ?? 0);
    };
    return [{ places, candidates }];
  } catch {
    const middle = places.length >> 1;
    return [places.slice(0, middle), places.slice(middle)].flatMap((half) => groupsOf(half, patterns, kind));
  }
}

/** V8 does not say which of the alternatives matched. */
function allOrNone(patterns: readonly string[]): (text: string) => readonly number[] {
  const any = new RegExp(patterns.map((pattern) => `(?:${pattern})`).join('|'), 'u');
  const all = patterns.map((_, at) => at);
  return (text) => (any.test(text) ? all : []);
}
