import { parseExactJson } from '../exact-integers.ts';
import { payForParse, StepBudget, StepsExceededError } from './steps.ts';

/** Parses a JSON object or array, large integers as texts; `undefined` for other text, and for JSON that takes longer than one budget of steps. */
export function parseBoundedContainer(text: string): unknown {
  // The first character decides about most texts, before anything is counted.
  if (!/^[ \t\r\n]*[[{]/.test(text)) return undefined;
  try {
    payForParse(text, new StepBudget());
  } catch (error) {
    if (error instanceof StepsExceededError) return undefined;
    throw error;
  }
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}
