/** Keys of the answer, numbered, with how often they occur and whether a source has them. */
export class Numbered {
  total = 0;
  readonly #numbers = new Map<number, number>();
  readonly #counts: number[] = [];
  readonly #isSeen: boolean[] = [];

  add(key: number): void {
    this.total++;
    const known = this.#numbers.get(key);
    if (known !== undefined) {
      (this.#counts[known] as number)++;
      return;
    }
    this.#isSeen.push(false);
    this.#numbers.set(key, this.#counts.push(1) - 1);
  }

  see(key: number): void {
    const number = this.#numbers.get(key);
    if (number !== undefined) this.#isSeen[number] = true;
  }

  unseen(): number {
    return this.#counts.reduce((sum, count, i) => (this.#isSeen[i] ? sum : sum + count), 0);
  }
}
