import type { Evaluated } from './evaluated.ts';
import type { Resource } from './resources.ts';
import type { StepBudget } from './steps.ts';

/** One keyword, or all keywords of one schema. `seen` collects what was evaluated, where someone asks for it. */
export type Validate = (value: unknown, run: SchemaRun, seen: Evaluated | undefined) => boolean;

/** A compiled schema. Schemas can refer to themselves, so `validate` is set after the object is known to others. */
export interface SchemaNode {
  validate: Validate;
}

/** The schema resources entered so far, innermost first; `$dynamicRef` looks for the outermost. */
export interface DynamicScope {
  readonly resource: Resource;
  readonly outer: DynamicScope | undefined;
}

/** Most characters of a place or message in a verdict. */
const MAX_SHOWN = 200;

export class SchemaRun {
  readonly budget: StepBudget;
  scope: DynamicScope | undefined;
  #message = '';
  /** Keys from the failure outwards. */
  #path: (string | number)[] | undefined;

  constructor(budget: StepBudget) {
    this.budget = budget;
  }

  /** Notes why a value is invalid. @returns false */
  fail(message: string): false {
    this.#message = message;
    this.#path = undefined;
    return false;
  }

  /** Notes that the failure lies under this key. @returns false */
  under(key: string | number): false {
    this.#path ??= [];
    this.#path.push(key);
    return false;
  }

  /** Where and why the value is invalid: `/items/3 must be string`. */
  get problem(): string {
    const where = (this.#path ?? [])
      .reverse()
      .slice(0, MAX_SHOWN / 2)
      .map((key) => `/${String(key).slice(0, MAX_SHOWN)}`)
      .join('');
    const place = where === '' ? 'the value' : where.slice(0, MAX_SHOWN);
    return `${place} ${this.#message.slice(0, MAX_SHOWN) || 'is invalid'}`;
  }
}
