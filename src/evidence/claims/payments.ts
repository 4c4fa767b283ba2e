import { figuresOf } from './figures.ts';
import type { Sums } from './sums.ts';
import type { ReadStep, Sentence } from './types.ts';

const MAX_CHECKED = 64;
/** Of more numbers products are chance. */
const MAX_FACTORS = 8;
const PAID = /\b(?:charged|refunded|applied|refund|credited|paid)\b/i;
const HAPPENED = /\b(?:has|have|been|was|were)\b/i;
const SUPPOSED = /\b(?:would|could|if|can)\b/i;
const PAYMENT_KEY = /amount|price_diff|charge|refund|total|paid|fee|balance/i;
const MAX_PAYMENT_NUMBERS = 200;
const MAX_PAYMENT_NODES = 5000;

/** The money that the calls moved: what an answer may say of payments. */
export class Payments {
  readonly #steps: readonly ReadStep[];
  readonly #sums: Sums;
  readonly #numbers: number[] = [];
  readonly #amounts: number[] = [];
  #isRead = false;
  #nodesLeft = MAX_PAYMENT_NODES;
  #checksLeft = MAX_CHECKED;

  constructor(steps: readonly ReadStep[], sums: Sums) {
    this.#steps = steps;
    this.#sums = sums;
  }

  /** Money said to have moved, where the calls that moved money give other amounts. */
  contradict(sentence: Sentence): boolean {
    const { text, isQuestion } = sentence;
    if (isQuestion || !PAID.test(text) || !HAPPENED.test(text) || SUPPOSED.test(text)) return false;
    const money = figuresOf(sentence).filter(({ isMoney, value }) => isMoney && value >= 1);
    if (money.length === 0) return false;
    if (!this.#isRead) {
      this.#isRead = true;
      this.#read();
    }
    if (this.#amounts.length === 0) return false;
    return money.some(
      (figure) =>
        this.#checksLeft-- > 0 &&
        !this.#give(figure.value) &&
        !this.#sums.give(figure, sentence.start + figure.start),
    );
  }

  /** The calls that moved money, and what was looked up after them. */
  #read(): void {
    let hasMoved = false;
    for (const step of this.#steps) {
      if (step.isBad || typeof step.value !== 'object' || (step.isRead && !hasMoved)) continue;
      const count = this.#amounts.length;
      this.#walk(step.value, '', 0, step.isRead);
      if (step.isRead) this.#amounts.length = count;
      else hasMoved = true;
    }
  }

  #give(value: number): boolean {
    const equals = (number: number) =>
      Math.abs(number - value) < 0.011 ||
      (number >= 100 && Math.abs(number - value * 100) < 0.011) ||
      (Number.isInteger(value) && Math.abs(number - value) < 0.5);
    const numbers = this.#numbers;
    if (numbers.some(equals) || sumsOf(this.#amounts.slice(0, 8)).some(equals)) return true;
    for (let i = 0; i < numbers.length; i++)
      for (let j = i + 1; j < numbers.length; j++) {
        const left = numbers[i] as number;
        const right = numbers[j] as number;
        if (equals(left + right) || equals(Math.abs(left - right))) return true;
        // A price times a quantity, and a fee.
        const product = left * right;
        if (numbers.length <= MAX_FACTORS && [0, ...numbers].some((fee) => equals(product + fee)))
          return true;
      }
    return false;
  }

  #walk(value: unknown, key: string, depth: number, isRead: boolean): void {
    if (this.#numbers.length >= MAX_PAYMENT_NUMBERS || depth > 7 || this.#nodesLeft-- <= 0) return;
    if (typeof value === 'number') {
      if (PAYMENT_KEY.test(key)) this.#amounts.push(Math.abs(value));
      this.#numbers.push(Math.abs(value));
    } else if (typeof value === 'string') {
      if (isRead) return;
      for (const match of value.slice(0, 2000).matchAll(/\d{1,9}(?:\.\d{1,2})?/g))
        this.#numbers.push(Number(match[0]));
    } else if (typeof value === 'object' && value !== null)
      for (const [name, member] of Object.entries(value))
        this.#walk(member, /^\d+$/.test(name) ? key : name, depth + 1, isRead);
  }
}

/** The sums of all parts of a short list. */
function sumsOf(numbers: readonly number[]): readonly number[] {
  const sums = [0];
  for (const number of numbers) for (const sum of sums.slice()) sums.push(sum + number);
  return sums.slice(1);
}
