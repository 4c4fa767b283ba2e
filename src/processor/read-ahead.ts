import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { atOnce, type Steps } from '../base/index.ts';
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
  type BoundedIdentity,
  boundedIdentity,
  identitySteps,
  sampledShare,
  type TextIdentities,
} from '../signals/index.ts';

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
 * @param isBounded whether texts of megabytes are hashed by sample only.
 * @param addEvidence computes the evidence of what was read.
 */
export function* readAhead(
  span: ReadableSpan,
  isBounded: boolean,
  addEvidence: (read: Interaction, kind: InteractionKind) => Interaction['evidence'],
): Steps<void> {
  const attached = attachedTo(span) ?? NOTHING;
  const kind = interactionKind(span) ?? kindOfAttached(attached);
  const written = readWritten(span, attached);
  keepAhead(span, { written });
  const read = readInteraction(span, { ...attached, written });
  yield true;
  if (isEnriched(span)) return;
  const identities = yield* identify(read, isBounded);
  keepAhead(span, { identities });
  yield true;
  if (!isEnriched(span)) keepAhead(span, { evidence: addEvidence(read, kind) });
}

/**
 * The hashes of long texts, of a large one within a bound of time, for a caller that waits.
 * @returns undefined when there are none.
 */
export function boundedIdentities(read: Interaction): TextIdentities | undefined {
  if (!areLong([read.prompt, read.answer])) return undefined;
  return atOnce(identify(read, true));
}

function* identify({ prompt, answer }: Interaction, isBounded: boolean): Steps<TextIdentities> {
  const isSampled = (text: string) => sampledShare([text]) < 1;
  function* identity(text: string, replaceVolatile: boolean): Steps<BoundedIdentity> {
    if (!isBounded || !isSampled(text))
      return { identity: yield* identitySteps(text, replaceVolatile), share: 1 };
    yield true;
    return boundedIdentity(text, replaceVolatile);
  }
  const prompts = prompt !== undefined && areLong([prompt]) ? yield* identity(prompt, true) : undefined;
  // The normal form of an answer that is scored whole is at hand then.
  const answers = answer !== undefined && isSampled(answer) ? yield* identity(answer, false) : undefined;
  const share = Math.min(prompts?.share ?? 1, answers?.share ?? 1);
  return { prompt: prompts?.identity, answer: answers?.identity, share };
}
