/** Keys of the answer, numbered, with how often they occur and whether a source has them. */
export class Numbered {
  total = 0;
  readonly #numbers = new Map<number, number>();
  readonly #counts: number[] = [];
  readonly #isSeen: boolean[] = [];

  add(key: number): number {
    this.total++;
    const known = this.#numbers.get(key);
    if (known !== undefined) {
      (this.#counts[known] as number)++;
      return known;
    }
    this.#isSeen.push(false);
    const number = this.#counts.push(1) - 1;
    this.#numbers.set(key, number);
    return number;
  }

  see(key: number): number | undefined {
    const number = this.#numbers.get(key);
    if (number !== undefined) this.#isSeen[number] = true;
    return number;
  }

  unseen(): number {
    return this.#counts.reduce((sum, count, i) => (this.#isSeen[i] ? sum : sum + count), 0);
  }
}
