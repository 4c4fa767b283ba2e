/** The rows of one statement, which is sent while the later ones are still encoded. */
export class GrowingRows<R> {
  readonly #rows: R[] = [];
  #isComplete = false;
  #tell: () => void = () => {};
  #growth: Promise<void> | undefined;

  /** The rows so far. */
  get rows(): readonly R[] {
    return this.#rows;
  }

  /** Adds a row, which is sent with the next {@link tell}. */
  add(row: R): void {
    this.#rows.push(row);
  }

  /** Tells the readers about the rows added. */
  tell(): void {
    this.#growth = undefined;
    this.#tell();
  }

  /** Ends the rows. */
  complete(): void {
    this.#isComplete = true;
    this.tell();
  }

  /** All rows, once the last is added. */
  async all(): Promise<readonly R[]> {
    while (!this.#isComplete) await this.#grown();
    return this.#rows;
  }

  /** The rows in portions, as they are added; each reader begins with the first. */
  async *portions(): AsyncGenerator<readonly R[]> {
    for (let sent = 0; ; ) {
      const portion = this.#rows.slice(sent);
      sent += portion.length;
      if (portion.length > 0) yield portion;
      if (sent < this.#rows.length) continue;
      if (this.#isComplete) return;
      await this.#grown();
    }
  }

  #grown(): Promise<void> {
    this.#growth ??= new Promise((resolve) => {
      this.#tell = resolve;
    });
    return this.#growth;
  }
}
