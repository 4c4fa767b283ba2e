/**
 * Differences between JSON values, for {@link packExchanges}. `changes` maps places (`messages[3]`, `choices[0].delta`)
 * to new values, `removed` lists deleted members.
 */
import { ObservatoryError } from '../../base/index.ts';
import { isObject } from '../../json/index.ts';

/** Limit on what the exchanges of one golden expand to, in characters of JSON. */
export const EXPANSION_LIMIT: number = 64 * 1024 * 1024;
/** An object with other member names is replaced as a whole. */
const NAME = /^(?!__proto__$)[A-Za-z_$][\w$-]*$/;
const STEP = /(?:^|\.)([A-Za-z_$][\w$-]*)|\[(\d{1,9})\]/gy;

export interface Delta {
  readonly changes: Readonly<Record<string, unknown>>;
  readonly removed?: readonly string[];
}

/** Characters of JSON that may still be expanded. */
export interface ExpansionBudget {
  left: number;
}

interface Draft {
  readonly changes: Record<string, unknown>;
  readonly removed: string[];
}

/** The changes that turn `base` into `value`; undefined when they have nothing in common. */
export function deltaBetween(base: unknown, value: unknown): Delta | undefined {
  const found: Draft = { changes: {}, removed: [] };
  compare(base, value, '', found);
  if (Object.hasOwn(found.changes, '')) return undefined;
  return found.removed.length === 0 ? { changes: found.changes } : found;
}

function compare(base: unknown, value: unknown, place: string, found: Draft): void {
  if (JSON.stringify(base) === JSON.stringify(value)) return;
  const inner: Draft = { changes: {}, removed: [] };
  if (Array.isArray(base) && Array.isArray(value) && value.length >= base.length) {
    for (const [index, item] of value.entries()) {
      if (index < base.length) compare(base[index], item, `${place}[${index}]`, inner);
      else inner.changes[`${place}[${index}]`] = item;
    }
  } else if (isObject(base) && isObject(value) && hasPlainNames(base) && hasPlainNames(value)) {
    const findPlace = (name: string): string => (place === '' ? name : `${place}.${name}`);
    for (const name of Object.keys(base))
      if (!Object.hasOwn(value, name)) inner.removed.push(findPlace(name));
    for (const [name, member] of Object.entries(value)) {
      if (Object.hasOwn(base, name)) compare(base[name], member, findPlace(name), inner);
      else inner.changes[findPlace(name)] = member;
    }
  } else {
    inner.changes[place] = value;
  }
  const whole: Draft = { changes: { [place]: value }, removed: [] };
  const shorter = place !== '' && measureSize(whole) < measureSize(inner) ? whole : inner;
  Object.assign(found.changes, shorter.changes);
  found.removed.push(...shorter.removed);
}

/**
 * A copy of `base` with the changes made. Its size is taken from the budget.
 * @throws ObservatoryError `GOLDEN_UNREADABLE` for a place that is not there, and when the budget is used up.
 */
export function applied(
  base: unknown,
  { changes, removed = [] }: Delta,
  budget: ExpansionBudget = { left: Number.POSITIVE_INFINITY },
): unknown {
  // The base belongs to its own exchange, so the changes are made to a copy.
  const root = structuredClone(base);
  for (const place of removed) {
    const [owner, last] = findOwner(root, place);
    if (Array.isArray(owner) || !Object.hasOwn(owner, last)) throw unreadable(`there is no ${place}`);
    delete owner[last];
  }
  for (const [place, value] of Object.entries(changes)) {
    const [owner, last] = findOwner(root, place);
    if (Array.isArray(owner) && !(Number(last) <= owner.length)) throw unreadable(`there is no ${place}`);
    // An assignment to __proto__ would not make a member.
    Object.defineProperty(owner, last, { value, writable: true, enumerable: true, configurable: true });
  }
  budget.left -= measureSize(root);
  if (budget.left < 0) throw unreadable(`its exchanges expand to more than ${EXPANSION_LIMIT} characters`);
  return root;
}

/** The object or array that holds a place, and the last step of the place: a name or an index. */
function findOwner(root: unknown, place: string): readonly [Record<string, unknown>, string] {
  const matches = [...place.matchAll(STEP)];
  const steps = matches.map(([, name, index]) => name ?? index ?? '');
  const last = steps.pop();
  let owner = root;
  for (const step of steps)
    owner = isContainer(owner) && Object.hasOwn(owner, step) ? owner[step] : undefined;
  const isPlace = matches.map(([step]) => step).join('') === place;
  if (last === undefined || !isPlace || !isContainer(owner)) throw unreadable(`there is no ${place}`);
  return [owner, last];
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function hasPlainNames(value: object): boolean {
  return Object.keys(value).every((name) => NAME.test(name));
}

export function measureSize(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

export function unreadable(what: string): ObservatoryError {
  return new ObservatoryError('GOLDEN_UNREADABLE', `The golden cannot be expanded: ${what}`);
}
