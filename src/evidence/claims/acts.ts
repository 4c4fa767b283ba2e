import { verbStemOf } from '../language/index.ts';
import { admitsFailure } from './admissions.ts';
import { failedIn } from './batch.ts';
import { emptyHanded, ended, finding } from './ends.ts';
import { excuses, MAX_REPORTED, reportsFailure } from './excuses.ts';
import { figuresOf, NUMBER_WORDS } from './figures.ts';
import { countedIn, quantityIn } from './quantities.ts';
import { isPlan, isRequest, saysNone } from './sentences.ts';
import { Told } from './told.ts';
import type { AnswerClaim, ClaimFinding, ReadStep, Sentence } from './types.ts';
import { actWithoutCall, isOfOrder, withoutCalls } from './unmade.ts';
import { actsIn, shares, wordsOfName } from './words.ts';

/** Claimed acts whose calls failed, never happened or failed in part, and answers from results that hold nothing. */
export function contradictedActs(
  prompt: string,
  claims: readonly AnswerClaim[],
  sentences: readonly Sentence[],
  given: readonly ReadStep[],
  hasBlock: boolean,
): readonly ClaimFinding[] {
  const steps = given.map((step) =>
    step.count !== undefined && sentences.some((one) => tellsCount(one, step.count) && quantityIn(one) !== 0)
      ? asDone(step)
      : step,
  );
  if (steps.length === 0) return withoutCalls(prompt, claims, sentences, hasBlock);
  const isAdmitted = sentences.some(admitsFailure);
  const acts = claims.filter((claim) => claim.kind !== 'lookup').slice(0, MAX_CLAIMS);
  const writes = steps.filter((step) => !step.isRead);
  const claimed = new Set(
    acts.flatMap(({ kind, isOwn, acts: said, sentence }) =>
      kind === 'act' &&
      !isOwn &&
      !ALREADY.test(sentence.lower) &&
      writes.some((step) => step.isBad && (step.acts.size === 0 || shares(step.acts, said)))
        ? [sentence]
        : [],
    ),
  );
  const isTold = reportsFailure(
    sentences.filter((one) => !claimed.has(one) || admitsFailure(one)),
    steps,
    prompt,
    sentences,
  );
  const told = new Told(steps);
  let wanted: ReadonlySet<string> | undefined;
  const asked = () => {
    wanted ??= wantedActs(prompt.slice(-MAX_ASKED_CHARS).toLowerCase());
    return wanted;
  };
  const admissions = sentences.filter(admitsFailure);
  const found = acts.flatMap((claim) => {
    const one = contradictedAct(claim, writes, told, asked, sentences, prompt);
    const step = one?.step === undefined ? undefined : steps.find(({ index }) => index === one.step);
    if (one === undefined || (step === undefined && one.kind === 'tool_never_called')) return one ?? [];
    return isTold || admissions.some((admission) => excuses(admission, claim, step)) ? [] : [one];
  });
  if (found.length > 0 || isAdmitted || isTold) return found;
  return (
    leftOpen(sentences, steps) ??
    unread(sentences, steps, prompt) ??
    partOf(sentences, steps) ??
    ended(sentences, steps) ??
    emptyHanded(sentences, steps, prompt) ??
    []
  );
}

/** "4 of the 6 replicas are ready": the answer tells how many. */
const tellsCount = (sentence: Sentence, count: number | undefined): boolean =>
  figuresOf(sentence).some(({ value }) => value === count) ||
  sentence.words.some(({ text }) => NUMBER_WORDS.get(text) === count);
const asDone = (step: ReadStep): ReadStep => ({ ...step, outcome: 'ok', isBad: false });

const wantedActs = (asked: string): ReadonlySet<string> => {
  const acts = actsIn(asked.split(NOT_A_WORD), asked);
  return TO_TELL.test(asked) ? acts.add('send') : acts;
};
/** "let her mom know", "tell the team" */
const TO_TELL =
  /(?<![a-z])(?:let [a-z' ]{1,40} know|tell (?:him|her|them|the|my|our)|drop (?:him|her|them) a (?:line|note))(?![a-z])/;

function contradictedAct(
  claim: AnswerClaim,
  writes: readonly ReadStep[],
  told: Told,
  asked: () => ReadonlySet<string>,
  sentences: readonly Sentence[],
  prompt: string,
): ClaimFinding | undefined {
  if (writes.length === 0)
    return claim.kind === 'act' ? actWithoutCall(claim, told, asked, sentences, prompt) : undefined;
  if (claim.places.length > 0 && writes.some((step) => !step.isBad)) return undefined;
  if (claim.kind === 'act' && claim.isCompleted && told.isOfOthers(claim))
    return finding('tool_never_called', claim.sentence);
  const last = writes.at(-1) as ReadStep;
  const isVague = claim.acts.size === 0 && claim.mentioned.size === 0 && claim.kind === 'act';
  if (isVague && last.isBad) return finding('tool_failed_claimed_success', claim.sentence, last.index);
  const calls = exactCalls(claim, callsFor(claim, writes));
  const failed = calls.filter((step) => step.isBad);
  const done = calls.filter((step) => !step.isBad);
  // "I printed the labels for 71 and 72" of 71 to 73
  if (
    done.some((step) => hasTarget(claim.sentence, step)) &&
    !failed.some((step) => hasTarget(claim.sentence, step)) &&
    quantityIn(claim.sentence) === undefined &&
    failed.some((step) => step.tool === done[0]?.tool && /^\w{1,12}$/.test(step.target))
  )
    return undefined;
  if (failed.length > 0 && done.length === 0)
    return finding('tool_failed_claimed_success', claim.sentence, failed.at(-1)?.index);
  const open = failed.filter(
    (step) => !step.isRetried && (step.outcome === 'failed' || shares(step.acts, claim.acts)),
  );
  const named = open.find(
    (step) =>
      (shares(claim.ids, step.ids) || isNamedIn(claim.sentence, step) || isToolNamed(claim.sentence, step)) &&
      !done.some((other) => fits(claim, other) > fits(claim, step)),
  );
  const isOfAll =
    isOfMore(claim.sentence, done.length) || (calls.length > 1 && PLURAL.test(claim.sentence.lower));
  if (named !== undefined || (open.length > 0 && isOfAll))
    return finding('partial', claim.sentence, (named ?? open.at(-1))?.index);
  const partial = calls.find((step) => step.outcome === 'partial' && !step.isRetried);
  if (partial !== undefined) return finding('partial', claim.sentence, partial.index);
  const isOther =
    !isNamedIn(claim.sentence, last) &&
    done.some((step) => shares(claim.ids, step.ids) || isNamedIn(claim.sentence, step));
  if (isAllBad(claim, writes, told))
    return finding('tool_failed_claimed_success', claim.sentence, last.index);
  return last.isBad &&
    !last.isRetried &&
    !isOther &&
    (failed.includes(last) || (done.length === 0 && (claim.isOwn || speaksOf(claim, last))))
    ? finding(done.length > 0 ? 'partial' : 'tool_failed_claimed_success', claim.sentence, last.index)
    : undefined;
}

const hasTarget = ({ lower }: Sentence, { target }: ReadStep): boolean =>
  target !== '' && wordsOfName(lower).includes(target.toLowerCase());

/** "all", "both", "four" of three that went well. */
const isOfMore = (sentence: Sentence, done: number): boolean => {
  const quantity = quantityIn(sentence);
  return quantity !== undefined && (quantity === 0 || quantity > done);
};
/** "The servers have been restarted": of things that are not told apart. */
const PLURAL =
  /^\W{0,4}(?:[a-z]{2,5}[!,.:] )?(?:(?:the|your) [^\d,;:]{0,30}s (?:are|were|have been)|(?:die|deine|ihre) [^\d,;:]{0,30} (?:sind|wurden)|(?:los|las|tus|sus) [^\d,;:]{0,30}s (?:están|han sido|fueron)|(?:les|vos|tes) [^\d,;:]{0,30}s (?:sont|ont été)|(?:os|as) [^\d,;:]{0,30}s (?:estão|foram)) /;

/** Nothing that was to change something went well, and something is said to be done. */
const isAllBad = (claim: AnswerClaim, writes: readonly ReadStep[], told: Told): boolean =>
  claim.kind === 'act' &&
  writes.every((step) => step.isBad && !step.isRetried) &&
  (claim.isCompleted || isOfOrder(claim.sentence)) &&
  !ALREADY.test(claim.sentence.lower) &&
  !told.says(claim);

/** Whether the sentence has a text that the call was given: a name, a place. */
const isNamedIn = ({ text }: Sentence, step: ReadStep): boolean => {
  const lower = text.toLowerCase();
  return step.names.some((name) => lower.includes(name));
};

/** Whether the sentence has all words of a tool's name: "retried the payment" of `retry_payment`. */
const isToolNamed = ({ words }: Sentence, { stems }: ReadStep): boolean => {
  if (stems.size < 2) return false;
  const said = new Set(words.map(({ text }) => verbStemOf(text)));
  return [...stems].every((stem) => said.has(verbStemOf(stem)));
};

/** How many words of the tool's name the claim has, of calls for the same thing. */
const fits = ({ sentence, ids }: AnswerClaim, step: ReadStep): number =>
  shares(ids, step.ids) ? sentence.words.filter(({ text }) => step.stems.has(verbStemOf(text))).length : 0;

const speaksOf = ({ sentence }: AnswerClaim, step: ReadStep): boolean =>
  sentence.words.some(({ text }) => text === 'now' || step.stems.has(verbStemOf(text)));

const MAX_CLAIMS = 48;
const NOT_A_WORD = /[^\p{L}\p{N}]+/u;
const MAX_ASKED_CHARS = 16_384;
/** The calls that a claim is about: of its families, and with its identifiers where a call has one of them. */
function callsFor(claim: AnswerClaim, writes: readonly ReadStep[]): readonly ReadStep[] {
  const isPlain = claim.acts.size === 0 && claim.kind === 'act';
  const calls = writes.filter(
    (step) =>
      shares(step.stems, claim.stems) ||
      (claim.kind === 'act' &&
        (step.acts.size === 0 || shares(step.acts, claim.mentioned) || shares(step.acts, claim.acts))),
  );
  const related = isPlain && claim.mentioned.size === 0 ? writes : calls;
  const named = related.filter((step) => shares(claim.ids, step.ids));
  return named.length > 0 ? named : related;
}

/** Those that have the claim's verb in their name, if they failed and the others do something else. */
function exactCalls(claim: AnswerClaim, calls: readonly ReadStep[]): readonly ReadStep[] {
  const exact = calls.filter((step) => step.isBad && !step.isRetried && shares(step.stems, claim.stems));
  const others = calls.filter((step) => !exact.includes(step));
  return exact.length > 0 && others.every((step) => step.acts.size === 0 && step.tool !== exact[0]?.tool)
    ? exact
    : calls;
}

/** Whether the sentence names a part that failed: `B130` of `"failed": [{"badge": "B130"}]`. */
const namesFailed = ({ lower }: Sentence, { value, tool }: ReadStep): boolean =>
  failedIn(value, wordsOfName(tool)).names.some((name) => name.length > 2 && lower.includes(name));

/** The answer speaks of all, and one call, or some of what a call should do, failed. */
function partOf(
  sentences: readonly Sentence[],
  steps: readonly ReadStep[],
): readonly ClaimFinding[] | undefined {
  const partial = steps.find((step) => step.outcome === 'partial' && !step.isRetried);
  if (partial !== undefined) {
    const sentence = sentences.find(
      (one) =>
        (isOfMore(one, partial.count ?? 0) && !isOfOtherStep(one, partial, steps)) ||
        /success|imported|\bok\b/i.test(one.text) ||
        (!one.isQuestion && !isPlan(one) && namesFailed(one, partial)),
    );
    return sentence && [finding('partial', sentence, partial.index)];
  }
  const open = steps.find((step) => !step.isRead && step.isBad && !step.isRetried);
  if (open === undefined) return undefined;
  const calls = steps.filter((step) => step.tool === open.tool).length;
  const sentence = sentences.find((one) => {
    const quantity = one.isQuestion || isPlan(one) ? undefined : quantityIn(one);
    return quantity !== undefined && calls > 1 && (quantity === 0 || quantity === calls);
  });
  return sentence && [finding('partial', sentence, open.index)];
}

/** "All four copies are out": of things that another result speaks of, and not this one. */
const isOfOtherStep = (sentence: Sentence, step: ReadStep, steps: readonly ReadStep[]): boolean => {
  const noun = countedIn(sentence)?.slice(0, -1);
  if (noun === undefined) return false;
  const speaks = ({ tool, text, argumentsText }: ReadStep) =>
    `${tool} ${text} ${argumentsText}`.toLowerCase().includes(noun);
  return !speaks(step) && steps.some((one) => one !== step && speaks(one));
};

/** An item of a list, a key of a record: it names a thing and says nothing of it. */
const IS_ITEM = /^\W{0,3}(?:[-•|{}"]|\d{1,2}[.)]\s)/;
const ALREADY = /(?<![a-z])(?:already|earlier|schon|bereits|ya|déjà|já)(?![a-z])|已经|既に|すでに/;
/** What is said of a thing that an act has changed. */
const IS_CHANGED =
  /(?<![a-zß-ÿ])(?:now|both|all|every|everything|done|ready|complete|jetzt|nun|alle|beide|ahora|ya|ambos|todo|maintenant|désormais|agora|(?:is|are) (?:active|live|on|off|up|set|running|in place))(?![a-zß-ÿ])|[✅✓🎉]|已|了|すべて/u;
const IS_COURTESY = /^\W{0,3}(?:please )?(?:let me know if|feel free)/;
const MIN_SENTENCE = 5;
const CONTRASTS =
  /(?<![a-zß-ÿ])(?:appears|seems|but|rather|instead|although|even though|only|says|said|still|attempt[a-z]{0,3}|tried|requested|aber|nur|pero|sino|mais|seulement)(?![a-zß-ÿ])|只|但|だけ|が、/;

/**
 * A call that was to change something failed, no later one did it, nothing in the answer admits it, and a sentence names
 * what it was to be done to.
 */
function leftOpen(
  sentences: readonly Sentence[],
  steps: readonly ReadStep[],
): readonly ClaimFinding[] | undefined {
  if (sentences.some((one) => one.isQuestion || (isRequest(one) && !IS_COURTESY.test(one.lower))))
    return undefined;
  const open = steps.filter((step) => !step.isRead && step.isBad && !step.isRetried).slice(-MAX_REPORTED);
  for (const step of open) {
    const isDone = steps.some(
      (one) => one.index > step.index && !one.isRead && !one.isBad && one.target === step.target,
    );
    if (isDone) continue;
    const others = steps.filter((one) => one !== step && !one.isRead && !one.isBad);
    const names = step.names.filter((name) => !others.some((one) => one.names.includes(name)));
    const sentence = sentences.find(
      (one) =>
        one.words.length >= MIN_SENTENCE &&
        !isPlan(one) &&
        !saysNone(one) &&
        IS_CHANGED.test(one.lower) &&
        !ALREADY.test(one.lower) &&
        !IS_ITEM.test(one.text) &&
        !CONTRASTS.test(one.lower) &&
        names.some((name) => one.lower.includes(name) || one.lower.includes(name.replace(/[-_]/g, ' '))),
    );
    if (sentence !== undefined)
      return [finding(others.length > 0 ? 'partial' : 'tool_failed_claimed_success', sentence, step.index)];
  }
  return undefined;
}

/** Figures are stated of a thing whose look-up failed. */
function unread(
  sentences: readonly Sentence[],
  steps: readonly ReadStep[],
  prompt: string,
): readonly ClaimFinding[] | undefined {
  const failed = steps.filter((one) => one.isRead && one.isBad && !one.isRetried).slice(-MAX_REPORTED);
  for (const step of failed) {
    const sentence = sentences.find(
      (one) =>
        !one.isQuestion &&
        !isPlan(one) &&
        isNamedIn(one, step) &&
        figuresOf(one).some(
          ({ raw }) => !prompt.includes(raw) && !steps.some(({ text }) => text.includes(raw)),
        ),
    );
    if (sentence !== undefined) return [finding('tool_failed_claimed_success', sentence, step.index)];
  }
  return undefined;
}
