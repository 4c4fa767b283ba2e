import { isObject } from '../../json/index.ts';
import { STATE } from './part-ends.ts';
import type { AnswerClaim, ReadStep } from './types.ts';
import { actsIn, hasUnspacedScript, shares, wordsOfName } from './words.ts';

/** What the calls have in their texts. */
export class Told {
  readonly #steps: readonly ReadStep[];
  readonly #texts = new Map<boolean, string>();
  readonly #known = new Map<string, boolean>();
  readonly #saying = new Map<string, boolean>();
  /** What the reads say, without keys that hold nothing. */
  #filled: string | undefined;
  #stateActs: ReadonlySet<string> | undefined;

  constructor(steps: readonly ReadStep[]) {
    this.#steps = steps;
  }

  /** Whether results say themselves that it was done: by its verb, or, of a plain one ("processed"), by the act that it names. */
  says({ verbs, acts, mentioned, sentence }: AnswerClaim): boolean {
    if (this.#steps.some((step) => step.isOpaque)) return true;
    if (hasUnspacedScript(sentence.lower) && shares(acts, this.#actsOfStates())) return true;
    const has = (word: string) =>
      this.#happened(word.slice(0, Math.max(5, word.length - 2))) ||
      (word.length < 5 && this.#happened(word));
    if (acts.size > 0 || mentioned.size === 0) return verbs.some(has);
    const verb = sentence.words.findIndex(({ text }) => verbs.includes(text));
    const nouns = sentence.words
      .slice(0, Math.max(0, verb))
      .flatMap(({ text }) => (actsIn([text], '').size > 0 ? [text] : []));
    return nouns.length > 0 ? nouns.some(has) : verbs.some(has);
  }

  /** The acts that states name: an answer gives that of `{"status": "cancelled"}` in another language. */
  #actsOfStates(): ReadonlySet<string> {
    if (this.#stateActs !== undefined) return this.#stateActs;
    const states = this.#steps.flatMap(({ value }) =>
      Object.entries(isObject(value) ? value : {}).flatMap(([key, state]) =>
        STATE.test(key) && typeof state === 'string' ? wordsOfName(state) : [],
      ),
    );
    this.#stateActs = actsIn(states, states.join(' '));
    return this.#stateActs;
  }

  /** Whether results say of something that it is arranged. */
  saysArranged(): boolean {
    return this.#steps.some((step) => step.isOpaque) || ARRANGED.some((stem) => this.#happened(stem));
  }

  /** Whether a text, in lower case, is in a result, an argument or the name of a tool. */
  knows(text: string): boolean {
    return this.areNamed([text]) || this.#isIn(text, true) || this.#isIn(text, false);
  }

  /** Whether a tool has a name with one of the words. */
  areNamed(words: readonly string[]): boolean {
    return words.some((word) => this.#steps.some((step) => step.tool.toLowerCase().includes(word)));
  }

  /** Whether the results have a word that is not only possible there ("can be modified", "to cancel"). */
  #happened(stem: string): boolean {
    let happened = this.#saying.get(stem);
    if (happened === undefined) {
      happened = false;
      this.#filled ??= this.#textOf(true).replace(UNFILLED, '');
      const text = this.#filled;
      if (this.#saying.size < MAX_PARTS)
        for (let at = text.indexOf(stem), n = 0; at >= 0 && n < MAX_PLACES && !happened; n++) {
          happened =
            !POSSIBLE.test(text.slice(Math.max(0, at - 16), at)) &&
            !ABLE.test(text.slice(at + stem.length, at + stem.length + 5));
          at = text.indexOf(stem, at + stem.length);
        }
      this.#saying.set(stem, happened);
    }
    return happened;
  }

  /** Whether the claim names things that calls have seen, and none of those that calls have changed. */
  isOfOthers(claim: AnswerClaim): boolean {
    const source = claim.sentence.text.toLowerCase().match(SOURCE)?.join(' ') ?? '';
    const ids = [...claim.ids]
      .filter((id) => /^[a-z_]+\d{4}/.test(id) && !source.includes(id))
      .slice(0, MAX_IDS);
    return ids.some((id) => this.#isIn(id, true)) && !ids.some((id) => this.#isIn(id, false));
  }

  #isIn(part: string, isRead: boolean): boolean {
    const key = `${part}${isRead}`;
    let isKnown = this.#known.get(key);
    if (isKnown === undefined) {
      isKnown = this.#known.size < MAX_PARTS && this.#textOf(isRead).includes(part);
      this.#known.set(key, isKnown);
    }
    return isKnown;
  }

  #textOf(isRead: boolean): string {
    let text = this.#texts.get(isRead);
    if (text === undefined) {
      text = this.#steps
        .filter((step) => step.isRead === isRead)
        .map((step) => (isRead ? step.text : `${step.argumentsText}\n${step.text}`))
        .join('\n')
        .toLowerCase();
      this.#texts.set(isRead, text);
    }
    return text;
  }
}
const ARRANGED = ['booked', 'confirmed', 'scheduled', 'reserved'];
/** "the address from order #W3407479" */
const SOURCE =
  /\b(?:from|like|than|of|in|on|as in|match|matches|matching) (?:[a-z]{1,12} ){0,3}#?[a-z_]{1,20}\d{4,20}/g;
const POSSIBLE = /(?:\b(?:be|can|cannot|may|to|not|only|you|will|would|should|must|if) |\/|_)$/;
/** "mergeable" of "merge" */
const ABLE = /^e?able/;
/** `"cancel_reason":null`: nobody cancelled it. */
const UNFILLED = /"[^"]{1,60}":(?:null|false|0|"")?,/g;
/** Places of a word that are looked at. */
const MAX_PLACES = 50;
const MAX_IDS = 4;
/** Different verbs of completed acts, and names, that are looked for. */
const MAX_PARTS = 64;
