import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { isRowAtFault } from './database-error.ts';

/** A row larger than this is not kept, in the unit of its form. */
const MAX_SIZE = 64 * 1024;

/**
 * Remembers a span that was stored. Whether the table would accept it again distinguishes a bad row from a table
 * that takes none.
 */
export class Witness {
  readonly #tryOut: ((span: ReadableSpan) => Promise<void>) | undefined;
  #span: ReadableSpan | undefined;

  /**
   * @param tryOut writes a span and takes it back, or throws the driver's error; without it, the witness never knows.
   */
  constructor(tryOut?: (span: ReadableSpan) => Promise<void>) {
    this.#tryOut = tryOut;
  }

  /** Notes rows that were stored. */
  saw(rows: readonly { readonly span: ReadableSpan; readonly size: number }[]): void {
    if (this.#tryOut !== undefined)
      this.#span = rows.find(({ size }) => size <= MAX_SIZE)?.span ?? this.#span;
  }

  /**
   * Whether the table takes a row like one that it took before; `undefined` if none is known.
   * @throws the driver's error when that cannot be tried now.
   */
  async isTaken(): Promise<boolean | undefined> {
    if (this.#tryOut === undefined || this.#span === undefined) return undefined;
    try {
      await this.#tryOut(this.#span);
      return true;
    } catch (error) {
      if (isRowAtFault(error)) return false;
      throw error;
    }
  }
}
