/**
 * The one budget of all schema work. The time to check a value grows with the product of schema and value, and both
 * can come from a server, so every unit of that work is paid for before it is done. A check that cannot pay stops, and
 * a check that stopped never counts as valid.
 */

/**
 * Steps of one budget: all checks of one decision, all checks of one result, or the compilation of one schema. A step
 * is calibrated to at most 25 ns, so a budget is spent after about 15 ms; code that is not yet optimized takes up to three
 * times as long. A result of 1 MiB against an ordinary schema takes about two fifths of it.
 */
const MAX_STEPS = 600_000;

/** Deeper recursion of schema or value is stopped, before the stack is full. */
const MAX_RECURSION = 512;

export class StepsExceededError extends Error {
  constructor(message = `more than ${MAX_STEPS} steps were needed`) {
    super(message);
    this.name = 'StepsExceededError';
  }
}

/** Work that may still be done. One budget can be shared by several checks. */
export class StepBudget {
  #left: number;
  #depth = 0;

  constructor(steps: number = MAX_STEPS) {
    this.#left = steps;
  }

  /** For files of our own side, whose size is bounded otherwise. */
  static unlimited(): StepBudget {
    return new StepBudget(Number.POSITIVE_INFINITY);
  }

  /** @throws StepsExceededError when fewer steps are left. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) {
      this.#left = 0;
      throw new StepsExceededError();
    }
  }

  /** One level down; {@link leave} goes back. */
  enter(steps: number): void {
    this.#depth += 1;
    if (this.#depth > MAX_RECURSION) {
      throw new StepsExceededError(`schema or value recurse more than ${MAX_RECURSION} levels deep`);
    }
    this.spend(steps);
  }

  leave(): void {
    this.#depth -= 1;
  }
}

/** Characters compared, hashed or copied in one step. */
const CHARS_PER_STEP = 16;

/** Steps for reading a text once. */
export function toSteps(text: string): number {
  return 1 + text.length / CHARS_PER_STEP;
}

/** Pays for walking a JSON value once, as serializing or comparing it does. */
export function payForWalk(value: unknown, budget: StepBudget): void {
  if (typeof value !== 'object' || value === null) {
    budget.spend(typeof value === 'string' ? 2 + toSteps(value) : 4);
    return;
  }
  budget.enter(10);
  for (const key of Array.isArray(value) ? [] : Object.keys(value)) budget.spend(6 + toSteps(key));
  for (const member of Object.values(value)) payForWalk(member, budget);
  budget.leave();
}

/** About 16,000 characters or a hundred values. */
const SMALL_STEPS = 1_000;

/** Whether walking a JSON value takes next to nothing, so that no reading of it needs a turn of its own. */
export function isSmall(value: unknown): boolean {
  try {
    payForWalk(value, new StepBudget(SMALL_STEPS));
    return true;
  } catch {
    return false;
  }
}

/** Names of members that are longer have all one hash in V8, so that each is compared with all others. */
const MAX_NAME_CHARS = 16_000;
const LONG_NAME = 14_000;

/** Pays for parsing a text as JSON: by its length and by what could be values, names and digits in it. */
export function payForParse(text: string, budget: StepBudget): void {
  budget.spend(text.length / 8);
  let values = 0;
  let digits = 0;
  let quoteAt = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= 0x30 && code <= 0x39) digits += 1;
    else if (code === 0x22) {
      if (at - quoteAt > MAX_NAME_CHARS && /^[\s:]/.test(text.slice(at + 1, at + 2))) budget.spend(LONG_NAME);
      if (text.charCodeAt(at - 1) !== 0x5c) quoteAt = at;
    } else if (code === 0x2c || code === 0x3a || code === 0x5b || code === 0x7b) values += 1;
  }
  // A number in the middle between two doubles takes a hundred times as long as others.
  budget.spend(8 * values + digits / 2);
}
