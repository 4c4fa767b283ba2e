import type { Interaction } from '../interaction/index.ts';
import { sampledShare } from '../signals/index.ts';
import { boundedIdentities } from './read-ahead.ts';
import type { WritableSpan } from './set-fields.ts';

/** The share of the answer, or of what it is compared with, that the scores have read, where not all was. */
const SCORES_SAMPLED = 'observatory.scores_sampled';
/** The share of the prompt or the answer that is hashed, where it is not the whole text. */
const HASHES_SAMPLED = 'observatory.hashes_sampled';

/** Says on the span which share of large texts is scored. */
export function tellScored(target: WritableSpan, interaction: Interaction): void {
  const { answer, retrievedContext, secondaryAnswer } = interaction;
  const share = sampledShare([answer, retrievedContext, secondaryAnswer]);
  if (share < 1) target.setAttribute(SCORES_SAMPLED, share);
}

/**
 * Says on the span which share of large texts is hashed.
 * @param isBounded whether large texts that nobody has hashed ahead are to be hashed within a bound of time.
 * @returns the interaction with their hashes.
 */
export function withHashes(target: WritableSpan, interaction: Interaction, isBounded: boolean): Interaction {
  const identities = interaction.identities ?? (isBounded ? boundedIdentities(interaction) : undefined);
  if (identities === undefined) return interaction;
  const { share = 1 } = identities;
  if (share < 1) target.setAttribute(HASHES_SAMPLED, share);
  return identities === interaction.identities ? interaction : { ...interaction, identities };
}
