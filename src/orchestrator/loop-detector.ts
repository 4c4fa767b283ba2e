import { createHash } from 'node:crypto';

export interface LoopOptions {
  /** Same tool, arguments and result this often within the window: the model gets a warning. @defaultValue 3 */
  readonly warnAfter?: number | undefined;
  /** This often: the run stops calling tools and answers from what it knows. @defaultValue 5 */
  readonly stopAfter?: number | undefined;
  /**
   * As `stopAfter`, for tools marked read-only, since polling is a good reason to repeat one. The default lies below
   * the default number of turns; raise it for long polls. @defaultValue 8
   */
  readonly stopReadOnlyAfter?: number | undefined;
  /** Calls looked back on. @defaultValue 50 */
  readonly window?: number | undefined;
}

/** A call as far as it tells loops. */
export interface FinishedCall {
  readonly argumentsText: string;
  readonly resultText: string;
  readonly readOnly: boolean;
}

export type LoopVerdict = 'fine' | 'warn' | 'stop';

/** Characters of a call that are held as they are. */
const MAX_TOLD = 1_000;

/**
 * Finds calls that go round in circles: the same tool with the same arguments giving the same result, turn after turn.
 * Equal calls of one turn count once: the model has not seen a result in between.
 *
 * The result is part of the key, so that a poll whose answer changes, or a page read forward, is no loop. Counting
 * within a window instead of a row also finds two calls taking turns.
 */
export class LoopDetector {
  readonly #warnAfter: number;
  readonly #stopAfter: number;
  readonly #stopReadOnlyAfter: number;
  readonly #window: number;
  readonly #recent: string[] = [];
  readonly #ofTurn = new Set<string>();
  #turn = 0;
  readonly #counts = new Map<string, number>();

  constructor(options: LoopOptions = {}) {
    this.#warnAfter = Math.max(2, options.warnAfter ?? 3);
    this.#stopAfter = Math.max(this.#warnAfter, options.stopAfter ?? 5);
    this.#stopReadOnlyAfter = Math.max(this.#stopAfter, options.stopReadOnlyAfter ?? 8);
    this.#window = Math.max(this.#stopReadOnlyAfter, options.window ?? 50);
  }

  /**
   * Notes one finished call.
   * @param readOnly whether the tool says it changes nothing.
   */
  record(turn: number, tool: string, { argumentsText, resultText, readOnly }: FinishedCall): LoopVerdict {
    const told = JSON.stringify([tool, argumentsText]) + resultText;
    const signature = told.length <= MAX_TOLD ? told : createHash('sha256').update(told).digest('base64');
    if (turn !== this.#turn) this.#ofTurn.clear();
    this.#turn = turn;
    if (this.#ofTurn.has(signature)) return 'fine';
    this.#ofTurn.add(signature);
    this.#recent.push(signature);
    const count = (this.#counts.get(signature) ?? 0) + 1;
    this.#counts.set(signature, count);
    if (this.#recent.length > this.#window) this.#forget(this.#recent.shift() as string);
    if (count >= (readOnly ? this.#stopReadOnlyAfter : this.#stopAfter)) return 'stop';
    // Warned at the mark and at its multiples, not at each call.
    return count % this.#warnAfter === 0 ? 'warn' : 'fine';
  }

  #forget(signature: string): void {
    const count = (this.#counts.get(signature) ?? 1) - 1;
    if (count === 0) this.#counts.delete(signature);
    else this.#counts.set(signature, count);
  }
}
