import type { StepBudget } from './steps.ts';

/** What the subschemas of one schema have looked at: `unevaluatedProperties` and `unevaluatedItems` are about the rest. */
export class Evaluated {
  readonly #names = new Set<string>();
  readonly #indexes = new Set<number>();
  #allNames = false;
  /** Items before this index. */
  #items = 0;

  addName(name: string): void {
    this.#names.add(name);
  }

  addIndex(index: number): void {
    this.#indexes.add(index);
  }

  addAllNames(): void {
    this.#allNames = true;
  }

  addItemsBefore(index: number): void {
    if (index > this.#items) this.#items = index;
  }

  hasName(name: string): boolean {
    return this.#allNames || this.#names.has(name);
  }

  hasIndex(index: number): boolean {
    return index < this.#items || this.#indexes.has(index);
  }

  addAll(other: Evaluated, budget: StepBudget): void {
    budget.spend(16 * (other.#names.size + other.#indexes.size));
    for (const name of other.#names) this.#names.add(name);
    for (const index of other.#indexes) this.#indexes.add(index);
    this.#allNames ||= other.#allNames;
    this.addItemsBefore(other.#items);
  }
}
