/** Validation of a value by a compiled schema, and the error for a schema that is refused. */
import type { ValidateFunction } from 'ajv';

/** Why a schema was not compiled. */
export class SchemaRefusedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SchemaRefusedError';
  }
}

/** Outcome of one check. `failed` means the check itself could not be finished, which never counts as valid. */
export type SchemaVerdict =
  | { readonly valid: true }
  | { readonly valid: false; readonly failed: boolean; readonly message: string };

/** References followed per validation before it is aborted: about 20 ms of work. */
export const MAX_REFS_FOLLOWED = 50_000;

/** References the current validation may still follow. */
export interface RefBudget {
  left: number;
}

export function runCheck(validate: ValidateFunction, budget: RefBudget, value: unknown): SchemaVerdict {
  budget.left = MAX_REFS_FOLLOWED;
  try {
    // `=== true`: anything else a validator might return, a promise for one, is not a yes.
    if ((validate(value) as unknown) === true) return { valid: true };
  } catch (error) {
    return { valid: false, failed: true, message: `The check failed: ${(error as Error).message}` };
  }
  const first = validate.errors?.[0];
  const where = first === undefined || first.instancePath === '' ? 'the value' : first.instancePath;
  return { valid: false, failed: false, message: `${where.slice(0, 200)} ${first?.message ?? 'is invalid'}` };
}
