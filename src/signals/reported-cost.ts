import { COST_NAMES, type CostName } from '../base/index.ts';
import { isObject, type JsonObject, readObject } from '../json/index.ts';
import { toWords } from './usage-place.ts';

/** A cost that was reported with a call. */
export interface ReportedCost {
  /** US dollars. */
  readonly usd: number;
  /** Whether an instrumentation computed it from its own list of prices. */
  readonly isComputed: boolean;
}

/** A name of spans, with its precedence. */
export interface ListedCost {
  readonly rank: number;
  readonly name: CostName;
}

/** The names of spans. */
export const SPAN_COSTS: ReadonlyMap<string, ListedCost> = new Map(
  COST_NAMES.flatMap((name, rank) => (name.on === 'span' ? [[name.name, { rank, name }] as const] : [])),
);

/** Of names that say no more than whose cost it is, in which currency, and of which part. */
const COST_WORDS: ReadonlySet<string> = new Set(
  'gen ai llm usage response request call model cost usd dollars total tokens input prompt output completion'.split(
    ' ',
  ),
);

/**
 * A cost under a name that no table has, by its words: `gen_ai.cost.usd`; of its input, with that of its output. None of
 * these is known to be what was charged.
 */
export function costByWords(name: string): ListedCost | undefined {
  const words = toWords(name);
  if (!words.includes('cost') || words.some((word) => !COST_WORDS.has(word))) return undefined;
  const [isInput, isOutput] = [INPUT, OUTPUT].map((part) => words.some((word) => part.test(word)));
  if (isOutput) return undefined;
  const and = isInput ? name.replace('input', 'output').replace('prompt', 'completion') : undefined;
  const told: CostName = { name, on: 'span', source: 'its words', isComputed: true };
  return { rank: Number.MAX_SAFE_INTEGER, name: and === undefined ? told : { ...told, and } };
}

/** Of names that say which sum of money their currency is of. */
const MONEY = /^(?:costs?|prices?|pricing|billing|billed|charged?|charges|spend|money)$/;
const FAMILY: ReadonlySet<string> = new Set([
  ...COST_WORDS,
  ...COST_NAMES.flatMap(({ name }) => toWords(name)),
  'currency',
  'amount',
]);

/**
 * Whether an attribute or member says that the cost beside it is in no US dollars: `gen_ai.usage.currency` with `CNY`,
 * `cost_unit` with `credits`; the currency of anything else, such as `user.currency`, says nothing.
 */
export function namesOtherCurrency(name: string, value: unknown): boolean {
  if (!CURRENCY_NAME.test(name)) return false;
  const words = toWords(name.replace(/[^a-z]?code$/i, ''));
  const isOfCost = /^units?$/.test(words.at(-1) ?? '')
    ? words.includes('cost')
    : words.some((word) => MONEY.test(word) || word === 'usage') || words.every((word) => FAMILY.has(word));
  const said = isObject(value) ? (value.code ?? value.name) : value;
  return isOfCost && typeof said === 'string' && said.trim() !== '' && !DOLLARS.test(said.trim());
}

const SUM = /^(?:costs?|price|total|amount|value)$/;
const CURRENCY_NAME = /(?:currency|units?)(?:[^a-z]?code)?$/i;
const DOLLARS = /^(?:us ?\$|\$|usd|us[ _-]?dollars?|dollars?|null|none|undefined)$/i;

/** Whether an object says so of the cost in it: by a member, or by one of the objects that hold usage or costs. */
export function saysOtherCurrency(value: unknown, within = '', depth = 2): boolean {
  if (!isObject(value)) return false;
  return Object.keys(value)
    .slice(0, MAX_PARTS)
    .some((name) => {
      const path = `${within}${name}`;
      if (namesOtherCurrency(path, value[name])) return true;
      const words = toWords(path);
      const isHolder = words.some((word) => MONEY.test(word));
      if (isHolder && SUM.test(words.at(-1) ?? '') && isInOtherCurrency(value[name])) return true;
      return (
        depth > 0 &&
        (isHolder || words.includes('usage')) &&
        saysOtherCurrency(value[name], `${path}.`, depth - 1)
      );
    });
}

/** Whether an amount is a text with another sign or code than that of the dollar: `¥0.01`, `0.01 CNY`. */
export function isInOtherCurrency(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const [, before = '', after = ''] =
    /^([^\d.{[]{0,16})[\d.,]{1,24}([^\d.}\]]{0,16})$/.exec(value.trim()) ?? [];
  const sign = (before + after).trim();
  return sign !== '' && !DOLLARS.test(sign);
}

const MEMBERS = COST_NAMES.filter(({ on }) => on === 'json').map((name) => ({
  name,
  path: name.name.split('.'),
}));

/**
 * The cost under a name; undefined for what is no amount, and for the zero of a list that does not know the model.
 * @param rest the value of the other attribute, where the cost has two.
 */
export function readCost(
  value: unknown,
  { perUsd = 1, isComputed = false, isParts = false, and }: CostName,
  rest?: unknown,
): ReportedCost | undefined {
  const told = isObject(value) ? readTotal(value, isParts) : readAmount(value);
  const amount = and === undefined ? told : addAll([told, readAmount(rest)]);
  if (amount === undefined || (isComputed && amount === 0)) return undefined;
  return { usd: amount / perUsd, isComputed };
}

function readTotal(costs: JsonObject, isParts: boolean): number | undefined {
  const total = costs.total ?? costs.total_cost ?? costs.amount ?? costs.value;
  const names = Object.keys(costs).slice(0, MAX_PARTS);
  const isWhole = isParts || [INPUT, OUTPUT].every((part) => names.some((name) => part.test(name)));
  if (total !== undefined || !isWhole) return readAmount(total);
  const parts = names.map((name) => readAmount(costs[name]));
  return parts.length === 0 ? undefined : addAll(parts);
}

function addAll(parts: readonly (number | undefined)[]): number | undefined {
  return parts.every((part) => part !== undefined) ? parts.reduce((sum, part) => sum + part, 0) : undefined;
}

const MAX_PARTS = 64;
const INPUT = /^(?:input|prompt)/;
const OUTPUT = /^(?:output|completion)/;

/** An amount of money, as a number or as text. */
export function readAmount(value: unknown): number | undefined {
  const amount = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
  return typeof amount === 'number' && Number.isFinite(amount) && amount >= 0 ? amount : undefined;
}

const DECIMAL = /^\d{1,12}(?:\.\d{1,24})?(?:[eE]-?\d{1,2})?$/;

/**
 * The cost that a provider's usage object reports, in US dollars. Getters that throw are the caller's to catch.
 * @param whole the object that holds the usage, which may say the currency.
 */
export function readReportedCost(usage: unknown, whole?: JsonObject): number | undefined {
  if (!isObject(usage)) return undefined;
  for (const { name, path } of MEMBERS) {
    const member = path.reduce<unknown>((value, key) => readObject(value)[key], usage);
    const cost = readCost(member, name);
    if (cost === undefined) continue;
    // Looked for where there is a cost alone, which few providers tell.
    return saysOtherCurrency(usage) || saysOtherCurrency(whole) ? undefined : withUpstream(cost.usd, usage);
  }
  return undefined;
}

/** With a key of one's own, a router's own cost leaves out what the provider charges. */
function withUpstream(usd: number, usage: Readonly<Record<string, unknown>>): number {
  const { is_byok: isByok, cost_details: details, costDetails } = usage;
  const upstream =
    readAmount(readObject(details).upstream_inference_cost) ??
    readAmount(readObject(costDetails).upstreamInferenceCost) ??
    // The AI Gateway.
    readAmount(usage.marketCost) ??
    0;
  return isByok === true || (isByok !== false && usd === 0) ? usd + upstream : usd;
}
