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
  const total = costs.total ?? costs.total_cost;
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

/** The cost that a provider's usage object reports, in US dollars. Getters that throw are the caller's to catch. */
export function readReportedCost(usage: unknown): number | undefined {
  if (!isObject(usage)) return undefined;
  for (const { name, path } of MEMBERS) {
    const member = path.reduce<unknown>((value, key) => readObject(value)[key], usage);
    const cost = readCost(member, name);
    if (cost !== undefined) return withUpstream(cost.usd, usage);
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
