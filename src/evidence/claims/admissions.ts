import type { Sentence } from './types.ts';

/** Of text in lower case: patterns so long that disregard the case cost milliseconds when they are first used. */
const ADMISSIONS =
  /(?<![a-zß-ÿ])(?:unfortunately|sorry|trouble|apologi[sz]e|unable|do(?: not|n['’]t) have(?! to )|not authorized|no permission|forbidden|(?:is|was|are|were) already|no longer (?:be|pending|possible|available|valid|open|active)(?! (?:any|the) [a-z])|there(?:['’]s| is| are| was| were) no|throttl(?:ed|es|ing)|rate.limit(?:ed|s|ing)?|discontinued|no longer (?:sold|offered|made|produced|stocked|supported|exists?)|(?:is|are|was|were|seems?|appears?|still|currently|be) (?:down(?! (?:to|by|from|at|\d))|offline|overloaded|unresponsive)|(?:status|error|code|http|answer(?:s|ed)|return(?:s|ed)|respond(?:s|ed)|gives?|gave|got|with)(?: (?:an?|with|status|code|http|error)){0,3} [45]\d\d|wait(?:ing )?list(?:ed)?|fully booked|sold out|(?:is|was|are|were) (?:full|too)|(?:only )?(?:one|two|three|four|five|six) (?:out )?of (?:the |your |these )?(?:\d{1,6}|two|three|four|five|six|seven|eight|nine|ten)|(?:eine?|zwei|drei|vier) (?:der|von|von den) (?:zwei|drei|vier|fünf)|(?:una?o?|dos|tres|cuatro) de (?:los |las )?(?:dos|tres|cuatro|cinco)|ausgebucht|agotad[oa]s?|timed out|bounced|skipped|omitted|left (?:them |it |these |those )?out|\d{1,6} (?:out )?of (?:the |your )?\d{1,6}|rolled back|reverted|(?:ist|war|sind|waren) (?:bereits|schon)|ya (?:est|era)[a-zß-ÿ]{0,6}|est déjà|couldn['’]?t|could not|cannot|can['’]t|(?:encounter[a-zß-ÿ]{1,3}|experienc[a-zß-ÿ]{1,3}|ran into|there (?:was|is|were|seems|appears)|hit|got|having|had|return[a-zß-ÿ]{1,3}|due to|because of|technical|internal|unexpected|with|an|this|some) (?:[a-zß-ÿ]{1,12} ){0,3}(?:issue|problem|error)s?|error occurred|did(?: not|n['’]t)|was(?: not|n['’]t)|were(?: not|n['’]t)|not (?:found|available|possible|able|eligible|allowed)|no (?:results|matches|records|data|information)|failed|failure|failing|fails|declined|rejected|refused|denied|invalid|except|however|doesn['’]t|does not|isn['’]t|is not|haven['’]t|(?:is|are) still un[a-z]{3,12}|has no [a-z]{3,20}|needs (?:an?|your|further|another|more|some) [a-z]{3,20}|leider|nicht|keine?[nrms]?|fehlgeschlagen|abgelehnt|lamentablemente|siento|no (?:se|he|ha|pude|encontr[a-zß-ÿ]{0,6}|hay|quedan)|fall(?:ó|aron)|rechaz[a-zß-ÿ]{1,6}|sin resultados|désolé|n['’]a|n['’]ai|pas pu|aucune?s?|impossible|infelizmente|não)(?![a-zß-ÿ])|抱歉|失败|失敗|无效|不明|未能|无法|没有|未找到|已经是|已驳回|没能|既に|すでに|ませんでした|ありません|申し訳|できません|不足|(?:応答|反応)(?:せず|しな|がな|なし|がありません)/;
/** Phrases with a word of failure that admit none. */
const NO_ADMISSION =
  /(?<![a-zß-ÿ])(?:no|none|nothing|zero|0|kein[a-zß-ÿ]{0,2}|ningun[a-zß-ÿ]{0,1}|aucune?) (?:[a-zß-ÿ]{1,12} ){0,3}(?:failed|fehlgeschlagen|falló|fallaron|(?:a|ont) échoué)(?![a-zß-ÿ])|(?<![a-zß-ÿ])(?:without|no|nothing|none|any|zero|0|sin|ohne|keine?|aucune?)\s(?:any\s|of them\s|(?:has|have)\s)?(?:errors?|issues?|problems?|fail[a-zß-ÿ]{1,4}|fehler|errores|fallos|erreurs?)(?![a-zß-ÿ])|(?<![a-zß-ÿ])(?:fix|correct|resolv|solv|repair)[a-zß-ÿ]{1,4} (?:[a-zß-ÿ-]{1,16} ){0,3}(?:errors?|issues?|problems?|failures?)(?![a-zß-ÿ])|(?:no|not|n['’]t) need to apologi[sz]e|help (?:you )?however|(?:is|are|was|were) not affected|(?:is|are)n['’]t affected|don['’]t hesitate|do not hesitate|(?:no|not a) problem|if (?:you|there)[^.!?\n]{0,60}(?:issue|problem|not)|(?:cannot|can['’]t|can no longer) be [a-zß-ÿ]{4,12}(?: or [a-zß-ÿ]{4,12})? (?:further|again|any ?more|afterwards)/g;
/** What holds back something, and is no failure of a call: "is already delivered", "however". */
const NO_FAILURE =
  /(?<![a-zß-ÿ])(?:(?:is|was|are|were) already|no longer (?:be|pending|possible|available|valid|open|active)|there (?:is|are|was|were) no|except|however|doesn['’]t|does not|isn['’]t|is not|aren['’]t|are not|haven['’]t|do(?: not|n['’]t) have|not (?:available|possible|eligible|allowed)|skipped|omitted|left out)(?![a-zß-ÿ])/g;

/** A sentence, in lower case, without its phrases that speak of failure and mean none ("without any errors"). */
export const withoutPoliteness = (lower: string): string => lower.replace(NO_ADMISSION, '');

/** Whether a sentence says that something failed, was refused or was not found. */
export function admitsFailure(sentence: Sentence): boolean {
  let admits = ADMITTED.get(sentence);
  if (admits === undefined) {
    admits = ADMISSIONS.test(sentence.lower) && ADMISSIONS.test(withoutPoliteness(sentence.lower));
    ADMITTED.set(sentence, admits);
  }
  return admits;
}
const ADMITTED = new WeakMap<Sentence, boolean>();

/** Whether a sentence says that something was tried and went wrong, not only that something is not so. */
export const reportsTrouble = (sentence: Sentence): boolean =>
  admitsFailure(sentence) && ADMISSIONS.test(withoutPoliteness(sentence.lower).replace(NO_FAILURE, ' '));
