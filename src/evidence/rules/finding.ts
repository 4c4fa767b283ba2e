import type { Sentence } from '../answer/index.ts';
import type { ReadStep } from '../trace/index.ts';
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

/** A finding on a statement against the step that has what it is about: most of its words. */
export function against(statement: Sentence, steps: readonly ReadStep[]): RuleFinding {
  const words = statement.words.filter(({ text }) => text.length > 3 || /\d/.test(text)).slice(0, 24);
  let [best, most] = [undefined as number | undefined, 0];
  for (const step of steps) {
    if (step.isListing || step.isBad) continue;
    const count = words.filter((word) => step.lower.includes(word.text)).length;
    if (count >= most) [best, most] = [step.index, count];
  }
  return onStatement(statement, best);
}
