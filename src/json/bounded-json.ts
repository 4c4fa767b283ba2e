/**
 * JSON of a value with a limit on its size. The work is bounded by the limit, not by the value: a result of fifty
 * megabytes costs no more than one of fifty kilobytes. What is cut is marked and the text stays valid JSON.
 */
const MAX_DEPTH = 32;
const CUT = '…';
/** What an empty list or object counts: its brackets. */
const EMPTY = 2;
/** And `null`, `true` or `false`. */
const LITERAL = 4;

/** @param limit Characters of values and keys kept before cutting; brackets, quotes and marks come on top. */
export function boundedJson(value: unknown, limit: number): string {
  return boundedCopy(value, limit).json();
}

/** A value as it was when it was copied, without what is beyond the limit. */
export interface BoundedCopy {
  /** Characters of the texts that it holds; of one that is cut, all of them. */
  readonly characters: number;
  json(): string;
}

/** The first characters of a value's JSON text. Reads little more of the value than it writes. */
export function beginningOfJson(value: unknown, maxChars: number): string {
  return boundedJson(value, maxChars).slice(0, maxChars);
}

/** As {@link boundedJson}, in two steps: copying takes little of its time, for texts are shared. */
export function boundedCopy(value: unknown, limit: number): BoundedCopy {
  const budget = { left: limit, characters: 0 };
  const kept = trim(value, budget, 0);
  return { characters: budget.characters, json: () => JSON.stringify(kept) ?? 'null' };
}

interface Budget {
  left: number;
  characters: number;
}

function trim(value: unknown, budget: Budget, depth: number): unknown {
  if (typeof value === 'string') return trimText(value, budget);
  if (typeof value === 'bigint') return trimText(value.toString(), budget);
  if (typeof value !== 'object' || value === null) {
    budget.left -= typeof value === 'number' ? String(value).length : LITERAL;
    return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
  }
  // Everything costs something: a list of a million empty lists is not walked to its end.
  if (depth >= MAX_DEPTH || budget.left <= 0) return mark(CUT, budget);
  if (value instanceof Date)
    return trimText(Number.isNaN(value.getTime()) ? CUT : value.toISOString(), budget);
  if (ArrayBuffer.isView(value)) return mark(`${CUT}${value.byteLength} bytes`, budget);
  return Array.isArray(value) ? trimArray(value, budget, depth) : trimObject(value, budget, depth);
}

function mark(text: string, budget: Budget): string {
  budget.left -= text.length;
  return text;
}

function trimText(text: string, budget: Budget): string {
  const room = budget.left;
  budget.left -= text.length;
  budget.characters += text.length;
  if (text.length <= room) return text;
  return room > 0 ? text.slice(0, room) + CUT : CUT;
}

function trimArray(items: readonly unknown[], budget: Budget, depth: number): unknown[] {
  const kept: unknown[] = [];
  if (items.length === 0) budget.left -= EMPTY;
  for (const item of items) {
    if (budget.left <= 0) {
      kept.push(CUT);
      break;
    }
    kept.push(trim(item, budget, depth + 1));
  }
  return kept;
}

function trimObject(source: object, budget: Budget, depth: number): Record<string, unknown> {
  const kept: Record<string, unknown> = Object.create(null);
  let isEmpty = true;
  for (const key in source) {
    if (!Object.hasOwn(source, key)) continue;
    if (budget.left <= 0) {
      kept[CUT] = CUT;
      break;
    }
    budget.left -= key.length;
    isEmpty = false;
    kept[key] = trim((source as Record<string, unknown>)[key], budget, depth + 1);
  }
  if (isEmpty) budget.left -= EMPTY;
  return kept;
}
