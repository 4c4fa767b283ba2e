import { isObject } from '../../json/index.ts';
import { verbStemOf } from '../language/index.ts';
import { finding } from './ends.ts';
import { isConditional, isPlan } from './sentences.ts';
import type { ClaimFinding, ReadStep, Sentence } from './types.ts';
import { wordsOfName } from './words.ts';

const MAX_DEPTH = 4;
const MAX_NODES = 400;
const MIN_STEM = 4;
const MAX_QUESTION_CHARS = 400;
/** "No refund has been issued", "there is nothing unread", "I don't see any payment" */
const DENIES =
  /(?<![a-zß-ÿ])(?:there (?:is|are|was|were|has been|have been)(?: currently)? (?:no|nothing|none|not any)|there['’]s (?:no|nothing)|(?:don['’]t|do not|didn['’]t|did not|can['’]t|cannot|couldn['’]t|could not) (?:see|find) any|(?:has|have|had|having) no|no [a-z]{4,20}(?: [a-z]{2,12})? (?:has|have|is|are|was|were) (?:been |yet )?(?:issued|found|made|sent|recorded|listed|scheduled|booked|open|registered|planned)|nothing (?:is|was|has been) (?:scheduled|booked|planned|open|listed|recorded|found))(?![a-zß-ÿ])|^\W{0,4}no (?:[a-z]{2,14} ){0,3}(?:found|today|tomorrow|yet)(?![a-z])/;
/** Of some of them, of other ones, or after an act. */
const LIMITED =
  /(?<![a-zß-ÿ])(?:other|others|else|more|further|additional|except|besides|apart|than|both|matching|longer|under|below|over|above|before|after|between|cheaper|earlier|later|new|only|but|without|errors?|issues?|problems?|conflicts?|need|reason|charge|cost|fee|action|today|yesterday|tomorrow|tonight|last|that|which|who|failed|this (?:week|month|year|morning|evening))(?![a-zß-ÿ])|\d/;
const ASKS_WHETHER =
  /^(?:is|are|was|were|do|does|did|has|have|any|can you (?:see|check|find)|what|which|when|check|show|list|find|how many)(?![a-z])/;
const STOP = new Set(
  'there have been this that with from your yours their them they when what which would could should about into some here does just still currently right using looks like any anything nothing none find found look looked check checked seems moment today account result results been issued made sent recorded listed scheduled booked open registered planned'.split(
    ' ',
  ),
);

/** The lists of a result by the words of their keys; one that stands alone has those of the tool. */
function listsOf(
  step: ReadStep,
): readonly { readonly words: readonly string[]; readonly list: readonly unknown[] }[] {
  const lists: { words: readonly string[]; list: readonly unknown[] }[] = [];
  let left = MAX_NODES;
  const walk = (value: unknown, key: string, depth: number): void => {
    if (depth > MAX_DEPTH || left-- <= 0) return;
    if (Array.isArray(value))
      lists.push({ words: key === '' ? [...wordsOfName(step.tool)] : wordsOfName(key), list: value });
    else if (isObject(value)) for (const name in value) walk(value[name], name, depth + 1);
  };
  walk(step.value, '', 0);
  return lists;
}

/** A denial of what the only look has, in the words of the question. */
export function deniedFinds(
  prompt: string,
  sentences: readonly Sentence[],
  steps: readonly ReadStep[],
): readonly ClaimFinding[] {
  const looks = steps.filter((step) => step.tool !== 'think');
  const [look] = looks;
  if (look === undefined || looks.length > 1 || !look.isRead || look.outcome !== 'ok' || look.isFailedState)
    return [];
  const asked = prompt
    .slice(prompt.lastIndexOf('\n\n') + 1)
    .slice(-MAX_QUESTION_CHARS)
    .trim()
    .toLowerCase();
  if (!ASKS_WHETHER.test(asked)) return [];
  const denial = sentences
    .slice(0, 3)
    .find((one) => !one.isQuestion && DENIES.test(one.lower) && !isConditional(one) && !isPlan(one));
  if (
    denial === undefined ||
    LIMITED.test(denial.lower.replace(/\b[\w-]*\d[\w-]*\b/g, (id) => (asked.includes(id) ? '' : id)))
  )
    return [];
  const lists = listsOf(look);
  if (lists.length === 0) return [];
  const given = `${asked} ${look.argumentsText} ${look.tool}`.toLowerCase();
  const words = denial.words
    .map(({ text }) => text)
    .filter((text) => text.length >= MIN_STEM && !STOP.has(text) && /^\p{L}+$/u.test(text));
  if (words.length === 0 || !words.every((word) => given.includes(verbStemOf(word).slice(0, 6)))) return [];
  const isFound = lists.some(
    ({ words: names, list }) =>
      list.length > 0 &&
      list.every(isObject) &&
      names.some(
        (name) =>
          name.length >= MIN_STEM &&
          words.some((word) => verbStemOf(word).slice(0, 6) === verbStemOf(name).slice(0, 6)),
      ),
  );
  const isSearched =
    /search|find|query/.test(look.tool.toLowerCase()) &&
    lists.some(({ list }) => list.length > 0 && list.every(isObject)) &&
    lists.every(({ list }) => list.length > 0);
  return isFound || isSearched ? [finding('wrong_negation', denial, look.index)] : [];
}
