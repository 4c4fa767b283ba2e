import { normalizedPromptHash, selfConsistencyScore } from '../../signals/index.ts';
import { type AnswerCheck, describeDifference, type Finding } from '../file/index.ts';

const PLACE = 'final_result';

/** Holds a final answer against the golden's, as the golden's rules say. Nothing when it passes. */
export function answerFinding(check: AnswerCheck, expected: unknown, actual: unknown): Finding | undefined {
  const difference = { place: PLACE, expected, actual };
  if (check.check === 'any') return undefined;
  const left = textOf(expected);
  const right = textOf(actual);
  switch (check.check) {
    case 'exact':
      return left === right ? undefined : { ...difference, message: describeDifference(difference) };
    case 'normalised_hash':
      if (normalizedPromptHash(left) === normalizedPromptHash(right)) return undefined;
      return {
        ...difference,
        message: `${describeDifference(difference)} (ids, dates, numbers and case do not count)`,
      };
    case 'contains': {
      const missing = check.texts.filter((text) => !right.toLowerCase().includes(text.toLowerCase()));
      if (missing.length === 0) return undefined;
      const texts = missing.map((text) => JSON.stringify(text)).join(', ');
      return { ...difference, message: `${PLACE}: the answer lacks ${texts}` };
    }
    case 'token_overlap': {
      const overlap = left === right ? 1 : selfConsistencyScore(left, right);
      if (overlap >= check.least) return undefined;
      const found = overlap.toFixed(2);
      return {
        ...difference,
        message: `${PLACE}: word overlap with the golden's answer is ${found}, below ${check.least}`,
      };
    }
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
