import type { Interaction } from '../interaction/index.ts';
import { boundedIdentity, LARGE_CHARS, sampledShare } from '../signals/index.ts';
import type { WritableSpan } from './set-fields.ts';

/** The share of the answer, or of what it is compared with, that the scores have read, where not all was. */
const SCORES_SAMPLED = 'observatory.scores_sampled';
/** The share of the prompt or the answer that is hashed, where it is not the whole text. */
const HASHES_SAMPLED = 'observatory.hashes_sampled';

/** Says on the span which share of large texts is scored. */
export function tellScored(target: WritableSpan, interaction: Interaction): void {
  const { answer, retrievedContext, secondaryAnswer } = interaction;
  if (!isLarge(answer) && !isLarge(retrievedContext) && !isLarge(secondaryAnswer)) return;
  const share = sampledShare([answer, retrievedContext, secondaryAnswer]);
  if (share < 1) target.setAttribute(SCORES_SAMPLED, share);
}

/** Identifies large texts within a bound of time, for a caller that waits, and says on the span of which share. */
export function withBoundedHashes(target: WritableSpan, interaction: Interaction): Interaction {
  if (!isLarge(interaction.prompt) && !isLarge(interaction.answer)) return interaction;
  const prompt = identify(interaction.prompt, true);
  const answer = identify(interaction.answer, false);
  const share = Math.min(prompt?.share ?? 1, answer?.share ?? 1);
  if (share < 1) target.setAttribute(HASHES_SAMPLED, share);
  return { ...interaction, identities: { prompt: prompt?.identity, answer: answer?.identity } };
}

function identify(text: string | undefined, replaceVolatile: boolean) {
  return isLarge(text) ? boundedIdentity(text, replaceVolatile) : undefined;
}

const isLarge = (text: string | undefined): text is string => text !== undefined && text.length > LARGE_CHARS;
