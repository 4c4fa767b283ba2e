/**
 * Texts that take many milliseconds to read. As a span ends they are hashed within a bound of time. For a span that is
 * enriched late or was received they are read ahead, in turns of the event loop.
 */
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type Steps, takeAll } from '../base/index.ts';
import {
  attachedTo,
  hasLongContent,
  type Interaction,
  type InteractionKind,
  interactionKind,
  isEnriched,
  keepAhead,
  kindOfAttached,
  readInteraction,
  readWritten,
} from '../interaction/index.ts';
import {
  areLong,
  boundedIdentity,
  identitySteps,
  sampledShare,
  type TextIdentities,
} from '../signals/index.ts';
import type { WritableSpan } from './set-fields.ts';

/** The share of the answer, or of what it is compared with, that the scores have read, where not all was. */
const SCORES_SAMPLED = 'observatory.scores_sampled';
/** The share of the prompt or the answer that is hashed, where it is not the whole text. */
const HASHES_SAMPLED = 'observatory.hashes_sampled';

/** Whether the texts of a span that is still to be enriched take many milliseconds to read. */
export function hasLongTexts(span: ReadableSpan): boolean {
  if (isEnriched(span)) return false;
  const { prompt, answer, retrievedContext, secondaryAnswer } = attachedTo(span) ?? NOTHING;
  if (areLong([prompt, answer, retrievedContext, secondaryAnswer])) return true;
  const isAttached = prompt !== undefined && answer !== undefined;
  return !isAttached && hasLongContent(span) && interactionKind(span) !== undefined;
}

const NOTHING: Interaction = Object.freeze({});

/**
 * Reads what takes long of a span that {@link hasLongTexts}, for an enrichment that follows: its messages, its hashes, its
 * evidence. The first step alone reads the span's own properties.
 * @param addEvidence computes the evidence of what was read.
 */
export function* readAhead(
  span: ReadableSpan,
  addEvidence: (read: Interaction, kind: InteractionKind) => Interaction['evidence'],
): Steps<void> {
  const attached = attachedTo(span) ?? NOTHING;
  const kind = interactionKind(span) ?? kindOfAttached(attached);
  const written = readWritten(span, attached);
  keepAhead(span, { written });
  const read = readInteraction(span, { ...attached, written });
  yield true;
  if (isEnriched(span)) return;
  const { prompt, answer } = textsToHash(read);
  const identities: TextIdentities = {
    prompt: prompt === undefined ? undefined : yield* identitySteps(prompt, true),
    answer: answer === undefined ? undefined : yield* identitySteps(answer, false),
  };
  keepAhead(span, { identities });
  yield true;
  if (!isEnriched(span)) keepAhead(span, { evidence: addEvidence(read, kind) });
}

/** The texts that are hashed here. The normal form of an answer that is scored whole is at hand where it is scored. */
function textsToHash({ prompt, answer }: Interaction): Pick<Interaction, 'prompt' | 'answer'> {
  return {
    prompt: areLong([prompt]) ? prompt : undefined,
    answer: isSampled(answer) ? answer : undefined,
  };
}

const isSampled = (text: string | undefined): boolean => sampledShare([text]) < 1;

/**
 * Says on the span which share of large texts is hashed.
 * @param isBounded whether large texts that nobody has hashed ahead are to be hashed within a bound of time.
 * @returns the interaction with their hashes.
 */
export function withHashes(target: WritableSpan, interaction: Interaction, isBounded: boolean): Interaction {
  const { identities, prompt, answer } = interaction;
  if (identities !== undefined || !isBounded || !areLong([prompt, answer])) return interaction;
  const hashed = textsToHash(interaction);
  const [prompts, answers] = [identifyNow(hashed.prompt, true), identifyNow(hashed.answer, false)];
  const share = Math.min(prompts?.share ?? 1, answers?.share ?? 1);
  if (share < 1) target.setAttribute(HASHES_SAMPLED, share);
  return { ...interaction, identities: { prompt: prompts?.identity, answer: answers?.identity } };
}

function identifyNow(text: string | undefined, replaceVolatile: boolean) {
  if (text === undefined) return undefined;
  if (isSampled(text)) return boundedIdentity(text, replaceVolatile);
  return { identity: takeAll(identitySteps(text, replaceVolatile)), share: 1 };
}

/** Says on the span which share of large texts is scored. */
export function tellScored(target: WritableSpan, interaction: Interaction): void {
  const { answer, retrievedContext, secondaryAnswer } = interaction;
  const share = sampledShare([answer, retrievedContext, secondaryAnswer]);
  if (share < 1) target.setAttribute(SCORES_SAMPLED, share);
}
