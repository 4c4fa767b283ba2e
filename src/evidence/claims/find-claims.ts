import { contradictedActs } from './acts.ts';
import { contradictedDenials } from './denials.ts';
import { deniedFinds } from './denied.ts';
import { claimsOf, sentencesOf } from './sentences.ts';
import { readSteps } from './steps.ts';
import type { ClaimFinding, ClaimInput } from './types.ts';
import { contradictedValues } from './values.ts';

const MAX_ANSWER_CHARS = 6144;
const MAX_STEPS = 100;
/** A call written into the answer as text: what follows is no claim. */
const CALL_AS_TEXT = /<(?:tool_call|function[-_]call)/;

/** A block of code or a quotation: the answer itself holds what was written or corrected. */
const BLOCK = /^ {0,3}(?:```|~~~|> )/m;

/**
 * Holds what an answer claims against the tool calls of its run. Deterministic, in time linear in its input, which is
 * read up to 6144 characters of the answer, the last 100 steps, 16,384 characters of each result and 32,768 of all.
 */
export function findClaims({ prompt, answer, steps }: ClaimInput): readonly ClaimFinding[] {
  const call = answer.slice(0, MAX_ANSWER_CHARS).search(CALL_AS_TEXT);
  const sentences = sentencesOf(answer.slice(0, call < 0 ? MAX_ANSWER_CHARS : call));
  const skipped = Math.max(0, steps.length - MAX_STEPS);
  const read = readSteps(steps.slice(skipped), skipped);
  const claims = claimsOf(sentences);
  return [
    ...contradictedActs(prompt, claims, sentences, read, BLOCK.test(answer.slice(0, MAX_ANSWER_CHARS))),
    ...contradictedDenials(claims, sentences, read),
    ...deniedFinds(prompt, sentences, read),
    ...contradictedValues(prompt, sentences, read),
  ];
}
