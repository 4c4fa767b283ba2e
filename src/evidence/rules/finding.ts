import type { Sentence } from '../answer/index.ts';
import type { RuleFinding } from './types.ts';

/** A finding on a whole statement. */
export const onStatement = ({ start, end }: Sentence, step?: number): RuleFinding => ({
  start,
  end,
  ...(step !== undefined && { step }),
});

export const shares = (left: ReadonlySet<string>, right: ReadonlySet<string>): boolean => {
  for (const item of left) if (right.has(item)) return true;
  return false;
};
