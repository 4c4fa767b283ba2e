import { Addends } from './derive.ts';
import { formsOf, isSlipAmong } from './evidence.ts';
import { Slips } from './slips.ts';
import type { ReadStep } from './types.ts';

const MONEY_KEY =
  /amount|price|total|cost|fare|fee|paid|pay(?:ment)?$|due|balance|charge|refund|credit|betrag|preis|kosten|gebühr|summe|importe|precio|monto|saldo|valor|preço|prix|montant|solde|金額|価格|金额|价格|余额|残高/i;
const DECIMALS = /(?<![\d.,])\d{1,9}\.\d{2}(?!\d)/g;
const MAX_NODES = 5000;
const MAX_DEPTH = 8;
const MAX_AMOUNTS = 200;
const MAX_TEXT_CHARS = 2000;

/** Amounts of money that calls give: numbers by their keys, and those with cents. */
export class Amounts {
  readonly #steps: readonly ReadStep[];
  #read: AmountsRead | undefined;
  #computed: { readonly count: number; readonly addends: Addends } | undefined;

  constructor(steps: readonly ReadStep[]) {
    this.#steps = steps;
  }

  /**
   * Whether a sum of money is one digit off an amount and cannot be computed from amounts. Other numbers of the results
   * (ages, seats, days) do not excuse it: with one of them added nearly every slip is a sum.
   * @param supported figures of the answer that the evidence has.
   */
  isSlip(value: number, supported: readonly number[]): boolean {
    this.#read ??= readAmounts(this.#steps);
    const { slips, all } = this.#read;
    if (!isSlipAmong(value, slips)) return false;
    // What is supported only grows.
    if (this.#computed?.count !== supported.length)
      this.#computed = { count: supported.length, addends: new Addends([...all, ...supported]) };
    return !this.#computed.addends.derive(value, false);
  }
}

interface AmountsRead {
  readonly all: readonly number[];
  readonly slips: Slips;
}

function readAmounts(steps: readonly ReadStep[]): AmountsRead {
  const found = new Set<number>();
  let left = MAX_NODES;
  const walk = (value: unknown, key: string, depth: number): void => {
    if (found.size >= MAX_AMOUNTS || depth > MAX_DEPTH || left-- <= 0) return;
    if (typeof value === 'number') {
      if (MONEY_KEY.test(key) || !Number.isInteger(value)) found.add(Math.abs(value));
    } else if (typeof value === 'string') {
      for (const match of value.slice(0, MAX_TEXT_CHARS).matchAll(DECIMALS)) found.add(Number(match[0]));
    } else if (Array.isArray(value)) for (const member of value) walk(member, key, depth + 1);
    else if (typeof value === 'object' && value !== null)
      for (const name in value) walk((value as Record<string, unknown>)[name], name, depth + 1);
  };
  for (const step of steps.toReversed()) {
    walk(step.value, '', 0);
    walk(step.arguments, '', 0);
  }
  const all = [...found];
  return { all, slips: new Slips(new Set(all.flatMap(formsOf))) };
}
