import { ObservatoryError } from './errors.ts';

/** @throws ObservatoryError `INVALID_OPTION` when the value is not a whole number from `min` up. */
export function wholeNumber(name: string, value: number, min: number): number {
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected '${name}' to be a whole number from ${min} up, got ${String(value)}`,
  );
}
