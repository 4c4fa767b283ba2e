/** The words of lines with a space between. */
export const wordSet = (...lines: readonly string[]): ReadonlySet<string> =>
  new Set(lines.join(' ').split(' '));

/** Words without a meaning of their own: articles, prepositions, pronouns, auxiliaries. In lower case. */
export const FUNCTION_WORDS = {
  en: wordSet(
    'a about after also am an and any are as at be because been before being between both but by can could did do does',
    'down during each few for from had has have having he her here him his how i if in into is it its just may me might',
    'more most must my no not of off on one only or other our out over own same shall she should so some such t than that',
    'the their them then there these they this those to too under up us very was we were what when where which while who',
    'whom whose why will with would you your d ll m re s ve all never nor per via st nd rd th',
  ),
  de: wordSet(
    'aber als an auch auf aus bei das dem den der des die ein eine einem einen einer er es für haben hat ich ihr im in ist',
    'mit nach nicht oder sie sind und von war waren werden wir wird zu zum zur',
  ),
  es: wordSet(
    'al como con de del el en es estar está fue la las le les lo los más no o para pero por que se ser son su sus un una',
    'unas unos y',
  ),
  fr: wordSet(
    'au aux avec ce cette dans des du elle elles et il ils le les mais ne on ou par pas plus pour qui sont sur un une était',
    'est',
  ),
  pt: wordSet('ao as com da das do dos e foi mas na nas no nos o os ou por que se seu sua são um uma'),
};

const NEGATIONS = wordSet(
  'barely cannot hardly neither never no nobody none nor not nothing nowhere scarcely without',
);

/** Whether an English word, in lower case, denies: "isn't" too. */
export const isNegation = (word: string): boolean => NEGATIONS.has(word) || /n['’]t$/.test(word);
