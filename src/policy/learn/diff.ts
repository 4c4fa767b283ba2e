/** Whether one policy lets through more or less than another: by their rules where these tell, else it is not known. */
import { canonicalJson, isObject } from '../../json/index.ts';
import type { PolicyDocument, RuleDocument } from '../policy-file.ts';

/** `narrower`: all that is let through now was let through before. `wider`: the other way round. */
export type Change = 'same' | 'narrower' | 'wider' | 'unknown';

export interface PolicyChange {
  /** The rule by its id, or the word of the policy. */
  readonly what: string;
  readonly change: Change;
  readonly why: string;
}

/** Compares two policies, rule by rule. @returns what changed; the whole is as {@link joinChanges} says. */
export function comparePolicies(before: PolicyDocument, after: PolicyDocument): readonly PolicyChange[] {
  const changes: PolicyChange[] = [];
  const [gone, added] = withoutEqual(before.rules, after.rules);
  for (const rule of gone) {
    const other = added.find(({ id }) => id === rule.id);
    if (other === undefined) {
      const { what, change, why } = toChange(rule, 'is gone', rule.effect === 'allow');
      changes.push({ what, change: isRival(rule, after) ? 'unknown' : change, why });
    } else changes.push(compareRules(rule, other));
  }
  for (const rule of added)
    if (!gone.some(({ id }) => id === rule.id))
      changes.push(toChange(rule, 'is new', rule.effect !== 'allow'));
  const words = new Set([...Object.keys(before), ...Object.keys(after)]);
  for (const word of words) {
    if (word === 'rules' || word === 'name') continue;
    const [was, now] = [before, after].map((one) => one[word as keyof PolicyDocument]);
    const change = compareWord(word, was, now);
    if (change !== 'same')
      changes.push({ what: `'${word}'`, change, why: `was ${shown(was)}, is ${shown(now)}` });
  }
  return changes;
}

/** What several changes are together. */
export function joinChanges(changes: readonly Change[]): Change {
  const found = new Set(changes.filter((change) => change !== 'same'));
  const [only = 'same'] = found;
  return found.size > 1 ? 'unknown' : only;
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'not set').slice(0, 80);

/** The rules of each that the other has not, whatever they are called. */
function withoutEqual(
  before: readonly RuleDocument[],
  after: readonly RuleDocument[],
): readonly [readonly RuleDocument[], readonly RuleDocument[]] {
  const [was, now] = [before, after].map((rules) => new Set(rules.map(toMeaning)));
  return [
    before.filter((rule) => now?.has(toMeaning(rule)) !== true),
    after.filter((rule) => was?.has(toMeaning(rule)) !== true),
  ];
}

function toMeaning({
  id: _,
  description: _said,
  tests: _run,
  risk_tier: _tier,
  ...meaning
}: RuleDocument): string {
  return canonicalJson({ ...meaning, tool: [meaning.tool].flat().sort() });
}

/** A rule that asks where none allows lets a person decide about what was denied. */
function toChange({ id, effect }: RuleDocument, why: string, isNarrower: boolean): PolicyChange {
  const change = effect === 'require_approval' ? 'unknown' : isNarrower ? 'narrower' : 'wider';
  return { what: `rule '${id}'`, change, why: `${why} (${effect})` };
}

/** Whether a name that two servers list may be barred for the sake of a rule: without it the other may be called. */
function isRival(
  { server, tool, effect }: RuleDocument,
  { rules, duplicate_names }: PolicyDocument,
): boolean {
  if (effect === 'deny' || duplicate_names === 'allow') return false;
  const names = [tool].flat();
  const others = rules.filter((rule) => rule.server !== server).flatMap((rule) => rule.tool);
  return [...names, ...others].some((name) => name.includes('*'))
    ? others.length > 0
    : names.some((name) => others.includes(name));
}

function compareRules(before: RuleDocument, after: RuleDocument): PolicyChange {
  const what = `rule '${after.id}'`;
  if (before.effect !== after.effect) {
    const ranks = ['allow', 'require_approval', 'deny'];
    const isStricter = ranks.indexOf(after.effect) > ranks.indexOf(before.effect);
    const why = `was ${before.effect}, is ${after.effect}`;
    const isElseSame = toMeaning({ ...before, effect: after.effect }) === toMeaning(after);
    return { what, change: isElseSame ? (isStricter ? 'narrower' : 'wider') : 'unknown', why };
  }
  const scope = joinChanges(compareScopes(before, after));
  const isAllow = before.effect === 'allow';
  const change = isAllow || scope === 'unknown' || scope === 'same' ? scope : turned(scope);
  const why = `takes ${{ narrower: 'fewer', wider: 'more', unknown: 'other', same: 'the same' }[scope]} calls (${after.effect})`;
  return {
    what,
    change: before.effect === 'require_approval' && change !== 'same' ? 'unknown' : change,
    why,
  };
}

const turned = (change: 'narrower' | 'wider'): Change => (change === 'narrower' ? 'wider' : 'narrower');

/** Which calls a rule is about: more words mean fewer calls. */
function compareScopes(before: RuleDocument, after: RuleDocument): readonly Change[] {
  const isSameServer = before.server === after.server;
  const tools = compareSets([after.tool].flat(), [before.tool].flat());
  const required = before.effect === 'allow' ? compareSets(before.required, after.required) : 'same';
  const names = new Set([...Object.keys(before.args ?? {}), ...Object.keys(after.args ?? {})]);
  const args = [...names].map((name): Change => {
    const [was, now] = [before, after].map(({ args: all = {} }) =>
      Object.hasOwn(all, name) ? all[name] : undefined,
    );
    if (was === undefined || now === undefined)
      return compareOptional(was, now, before.only_args ?? after.only_args);
    return compareSchemas(was, now);
  });
  return [
    isSameServer ? 'same' : 'unknown',
    // A star may stand for what the other names.
    tools !== 'same' && [before.tool, after.tool].flat().some((tool) => tool.includes('*'))
      ? 'unknown'
      : tools,
    required,
    ...args,
    compareOptional(before.only_args, after.only_args),
    compareOptional(before.annotations, after.annotations),
    compareOptional(before.once, after.once),
    compareConditions(before, after),
  ];
}

/** A condition that is there in one only. @param only whether naming an argument is what lets it be given. */
function compareOptional(was: unknown, now: unknown, only?: boolean): Change {
  if (canonicalJson(was ?? null) === canonicalJson(now ?? null)) return 'same';
  if (was !== undefined && now !== undefined) return 'unknown';
  return only === true ? 'unknown' : was === undefined ? 'narrower' : 'wider';
}

function compareConditions(before: RuleDocument, after: RuleDocument): Change {
  const [was, now] = [before, after].map(({ sources = [], provenance = [] }) =>
    [...sources, ...provenance.map((arg) => ({ arg, from: ['prompt'] }))].map((one) => canonicalJson(one)),
  );
  return compareSets(was, now);
}

/** More members in `now` mean fewer calls. */
function compareSets(was: readonly string[] = [], now: readonly string[] = []): Change {
  const isMore = was.every((one) => now.includes(one));
  const isLess = now.every((one) => was.includes(one));
  if (isMore && isLess) return 'same';
  return isMore ? 'narrower' : isLess ? 'wider' : 'unknown';
}

/** Limits of a schema, and whether a larger value takes more. */
const LIMITS: Readonly<Record<string, boolean>> = {
  ...{ maximum: true, exclusiveMaximum: true, maxLength: true, maxItems: true, maxProperties: true },
  ...{ minimum: false, exclusiveMinimum: false, minLength: false, minItems: false, minProperties: false },
};
const LISTS = new Set(['enum', 'emailDomainIn', 'urlHostIn', 'pathWithin', 'localPathWithin', 'type']);

function compareSchemas(was: unknown, now: unknown): Change {
  if (canonicalJson(was) === canonicalJson(now)) return 'same';
  if (was === false || now === true) return 'wider';
  if (now === false || was === true) return 'narrower';
  if (!isObject(was) || !isObject(now)) return 'unknown';
  const [a, b] = [was, now].map(({ const: value, ...rest }) =>
    value === undefined ? rest : { ...rest, enum: [value] },
  ) as [Record<string, unknown>, Record<string, unknown>];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return joinChanges([...keys].map((key) => compareKeyword(key, a[key], b[key])));
}

function compareKeyword(key: string, was: unknown, now: unknown): Change {
  if (canonicalJson(was ?? null) === canonicalJson(now ?? null)) return 'same';
  const isLimit = Object.hasOwn(LIMITS, key);
  if (!isLimit && !LISTS.has(key)) return 'unknown';
  if (was === undefined || now === undefined) return was === undefined ? 'narrower' : 'wider';
  if (isLimit) return Number(now) > Number(was) === LIMITS[key] ? 'wider' : 'narrower';
  const [a, b] = [was, now].map((list) => [list].flat().map((one) => canonicalJson(one)));
  return compareSets(b, a);
}

/** Words of a policy with an order from strict to loose. */
const ORDERS: Readonly<Record<string, readonly unknown[]>> = {
  mode: ['enforce', 'shadow'],
  duplicate_names: ['quarantine', 'allow'],
  unknown_arguments: ['reject_always', 'reject_undeclared'],
  prompt_template: ['required', 'optional'],
  untyped: ['deny', 'allow'],
};
const DEFAULTS: Readonly<Record<string, unknown>> = {
  ...{ mode: 'enforce', duplicate_names: 'quarantine', unknown_arguments: 'reject_undeclared' },
  ...{ prompt_template: 'optional', untyped: 'allow' },
};

function compareWord(word: string, was: unknown, now: unknown): Change {
  const [a, b] = [was ?? DEFAULTS[word], now ?? DEFAULTS[word]];
  if (canonicalJson(a ?? null) === canonicalJson(b ?? null)) return 'same';
  const order = ORDERS[word];
  if (order !== undefined) return order.indexOf(b) > order.indexOf(a) ? 'wider' : 'narrower';
  if (word === 'untrusted') return compareSets(toTexts(a), toTexts(b));
  if (word !== 'budgets' && word !== 'limits') return 'unknown';
  // No budget is the largest; limits have defaults.
  const [from, to] = [a, b].map((value) => (isObject(value) ? value : {}));
  const names = new Set([...Object.keys(from ?? {}), ...Object.keys(to ?? {})]);
  return joinChanges(
    [...names].map((name) => {
      const [x, y] = [from?.[name], to?.[name]];
      if (word === 'limits' && (x === undefined || y === undefined)) return 'unknown';
      if (typeof (x ?? y) !== 'number') return compareOptional(x, y);
      const [old, fresh] = [Number(x ?? Infinity), Number(y ?? Infinity)];
      return old === fresh ? 'same' : fresh > old ? 'wider' : 'narrower';
    }),
  );
}

function toTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map((one) => canonicalJson(one)) : [];
}
