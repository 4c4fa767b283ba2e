/** A snapshot of the arguments of a call: what is decided is what is sent, whatever the caller does to its object. */
import { ObservatoryError } from '../base/index.ts';
import { checkJsonValue, FILE_LIMITS, type JsonObject, StrictJsonError } from '../json/index.ts';

/** Arguments beyond these are not even copied; a policy allows less. */
const COPY_LIMITS = { ...FILE_LIMITS, maxValues: 50_000 };

export interface CallArguments {
  /** The arguments as they are now; the caller's own object if they are unsafe. */
  readonly args: JsonObject;
  /** They are too large to be copied. The gate denies them. */
  readonly isUnsafe: boolean;
}

/**
 * @param of whose arguments they are, for the message.
 * @throws ObservatoryError `INVALID_INPUT` for what is no data.
 */
export function copyArguments(given: unknown, of: string): CallArguments {
  if (isTooLarge(given)) return { args: given as JsonObject, isUnsafe: true };
  try {
    return { args: structuredClone(given) as JsonObject, isUnsafe: false };
  } catch (cause) {
    throw new ObservatoryError('INVALID_INPUT', `The arguments of ${of} are not JSON`, { cause });
  }
}

function isTooLarge(args: unknown): boolean {
  try {
    checkJsonValue(args, COPY_LIMITS);
    return false;
  } catch (cause) {
    return cause instanceof StrictJsonError && /^too_/.test(cause.problem);
  }
}
