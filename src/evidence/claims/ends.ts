import { isPlan, isRequest, saysNone } from './sentences.ts';
import type { ClaimFinding, ReadStep, Sentence } from './types.ts';
import { hasUnreadScript, hasUnspacedScript } from './words.ts';

/** A finding on a whole sentence. */
export const finding = (
  kind: ClaimFinding['kind'],
  { start, end }: Sentence,
  step?: number,
): ClaimFinding => ({
  kind,
  start,
  end,
  ...(step !== undefined && { step }),
});

/** The last look at a state found a failure, and the answer speaks of success. */
export function ended(
  sentences: readonly Sentence[],
  steps: readonly ReadStep[],
): readonly ClaimFinding[] | undefined {
  const last = steps.at(-1);
  if (last?.isFailedState !== true) return undefined;
  const sentence = sentences.find(
    (one) =>
      !one.isQuestion &&
      !isPlan(one) &&
      /\b(?:success[a-zß-ÿ]{0,5}|finished|passed|pass|completed)\b/i.test(one.text),
  );
  return sentence && [finding('tool_failed_claimed_success', sentence, last.index)];
}

/** What nothing was found of can be taken. */
const FREE =
  /(?<!\p{L})(?:available|free|(?:is|are) unused|frei|verfügbar|libre|disponible|disponível|libero)(?!\p{L})|可用|可以使用|空いて|使えます/iu;
/** "I'm ready to help", "It seems I need": of the speaker, not of what was looked for. */
const OF_SPEAKER = /^\W{0,4}(?:i['’]m|i am|i need|i can|i['’]d|it (?:seems|looks like|appears) i|to |thank)/i;
const ASKS = /\b(?:please|could you|can you|i['’]ll need|i need)\b/i;
const PROMISES = /\b(?:will|would|should|could|let|please|if|once|when)\b|['’]ll\b/i;

/** "Yes: after five years …", "Found it: …", "Here's a summary of the rules in your wiki" */
const AFFIRMS =
  /^\W{0,4}(?:yes|yep|found (?:it|them|one|two|three)|here(?:['’]s| is| are) (?:a summary|the summary|what (?:i found|it says)|the (?:results?|details))|ja|sí|oui|sim|はい)(?![a-zà-ÿ])|^\W{0,4}(?:有的|找到)/;

/** A plan, not a rule that has a "before" or an "after" in it. */
const isPromise = (one: Sentence): boolean =>
  isPlan({ ...one, words: one.words.filter(({ text }) => !/^(?:after|before|until|being)$/.test(text)) });

/** "can be reached at 555-0147": a figure that the user did not give, and no promise. */
const statesMore = (sentence: Sentence, prompt: string): boolean =>
  !PROMISES.test(sentence.text) &&
  (sentence.text.match(/\d[\d:-]{2,}|[$€£]\s?\d+/g) ?? []).some((figure) => !prompt.includes(figure));

/** Every call failed or found nothing, and the answer states something. */
export function emptyHanded(
  sentences: readonly Sentence[],
  steps: readonly ReadStep[],
  prompt: string,
): readonly ClaimFinding[] | undefined {
  const calls = steps.filter((step) => step.tool !== 'think');
  const last = calls.at(-1);
  if (last === undefined || !calls.every((step) => step.outcome === 'failed' || step.outcome === 'empty'))
    return undefined;
  const states = sentences.find((one) => !one.isQuestion && one.words.length >= 3);
  const isFree =
    sentences.some(({ text }) => FREE.test(text)) &&
    !(states !== undefined && !FREE.test(states.text) && statesMore(states, prompt));
  const affirms = states !== undefined && AFFIRMS.test(states.lower);
  const asksBack = sentences.some((one) => one.isQuestion || isRequest(one) || ASKS.test(one.text));
  const sentence = sentences.find(
    (one) =>
      !one.isQuestion &&
      !OF_SPEAKER.test(one.text) &&
      (!(isPromise(one) || asksBack) || statesMore(one, prompt) || (affirms && one === states)) &&
      (one.words.length >= 3 || hasUnspacedScript(one.text) || one.text.startsWith('{')),
  );
  if (sentence === undefined || hasUnreadScript(sentence.text)) return undefined;
  if (sentences.some(saysNone) || isFree) return undefined;
  const kind = last.outcome === 'failed' ? 'tool_failed_claimed_success' : 'empty_result_confident_answer';
  return [finding(kind, sentence, last.index)];
}
