import { bisect } from '../base/index.ts';
import { isPartitionMissing, isRowAtFault, TableRefusal } from './database-error.ts';
import type { GrowingRows } from './growing-rows.ts';
import type { BatchSink, EncodedSpan, RefusedSpan, StoreTally } from './row-sink.ts';

/** Failed statements before a search for bad rows ends. One row among 1,000 costs eleven. */
const MAX_FAILED_STATEMENTS = 200;

/** Extra failed statements, beyond those that isolate one row, before a search that stored no row is abandoned. */
const MAX_FRUITLESS_STATEMENTS = 3;

/**
 * Writes rows in one statement. If the database refuses it, the rows are bisected for bad ones and all others are
 * written. A row is bad only if it fails alone while the table takes others: some of the same statement, or one like a
 * row that it took before. If it takes none, the table is at fault and no row is refused.
 *
 * @throws TableRefusal when the table takes no row, or has no partition for some; the driver's error when no row is at
 *   fault.
 */
export async function storeRows<R extends EncodedSpan>(
  growing: GrowingRows<R>,
  sink: BatchSink<R>,
  tally: StoreTally,
): Promise<void> {
  await new RowSearch(growing, sink, tally).run();
}

class RowSearch<R extends EncodedSpan> {
  readonly #growing: GrowingRows<R>;
  readonly #sink: BatchSink<R>;
  readonly #tally: StoreTally;
  readonly #isAtFault: (error: unknown) => boolean;
  /** Rows that failed alone before it was known that the table takes any, and after that. */
  readonly #early: R[] = [];
  readonly #bad: RefusedSpan[] = [];
  #firstReason: unknown;
  #missingPartition: unknown;
  #failedStatements = 0;
  #isTableOpen = false;

  constructor(growing: GrowingRows<R>, sink: BatchSink<R>, tally: StoreTally) {
    this.#growing = growing;
    this.#sink = sink;
    this.#tally = tally;
    this.#isAtFault = sink.isRowAtFault ?? isRowAtFault;
  }

  async run(): Promise<void> {
    await bisect(this.#growing.rows, (part) => this.#attempt(part));
    if (this.#failedStatements === 0) return;
    if (!this.#isTableOpen) throw new TableRefusal(this.#firstReason);
    for (const row of this.#early) await this.#attempt([row]);
    // The table may have been changed in the meantime.
    if (this.#bad.length > 0 && (await this.#sink.witness.isTaken()) === false) {
      throw new TableRefusal(this.#firstReason);
    }
    this.#tally.refused.push(...this.#bad);
    if (this.#missingPartition !== undefined) throw new TableRefusal(this.#missingPartition);
  }

  async #attempt(part: readonly R[]): Promise<'done' | 'bad'> {
    try {
      await this.#write(part);
    } catch (reason) {
      await this.#fail(part, reason);
      return 'bad';
    }
    this.#isTableOpen ||= this.#failedStatements > 0;
    this.#sink.witness.saw(part);
    this.#tally.stored += part.length;
    for (const { isSanitized, isTruncated } of part) {
      if (isSanitized) this.#tally.sanitized += 1;
      if (isTruncated) this.#tally.truncated += 1;
    }
    return 'done';
  }

  async #write(part: readonly R[]): Promise<void> {
    const { rows } = this.#growing;
    if (part !== rows) await this.#sink.writeRows(part);
    else if (this.#sink.writeGrowing === undefined) await this.#sink.writeRows(await this.#growing.all());
    else await this.#sink.writeGrowing(this.#growing);
  }

  /** @throws the reason, or its meaning, when the search is pointless. */
  async #fail(part: readonly R[], reason: unknown): Promise<void> {
    // The search for bad rows is among all of them.
    const rows = await this.#growing.all();
    this.#failedStatements += 1;
    if (!this.#isAtFault(reason) || this.#failedStatements > MAX_FAILED_STATEMENTS) throw reason;
    if (this.#failedStatements === 1) {
      this.#firstReason = reason;
      this.#isTableOpen = (await this.#sink.witness.isTaken()) === true;
    }
    const fruitless = Math.ceil(Math.log2(rows.length)) + 1 + MAX_FRUITLESS_STATEMENTS;
    if (!this.#isTableOpen && this.#failedStatements >= fruitless) throw new TableRefusal(this.#firstReason);
    const [only] = part;
    if (part.length !== 1 || only === undefined) return;
    if (isPartitionMissing(reason)) this.#missingPartition ??= reason;
    else if (this.#isTableOpen) this.#bad.push({ span: only.span, reason });
    else this.#early.push(only);
  }
}
