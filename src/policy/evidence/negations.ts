/**
 * Words that turn or narrow a sentence, by language. Left out of a quote, the quote says more than its source; left
 * out of a claim, the claim says the opposite.
 */
import { isNegation } from '../../evidence/index.ts';
import { splitWords } from './words.ts';

interface Language {
  /** Say that something is not so, or must not be. */
  readonly negations: ReadonlySet<string>;
  /** Let something be so only in part. */
  readonly restrictions: ReadonlySet<string>;
  /** Turn what follows them, and nothing before: `without`. */
  readonly prefixed: ReadonlySet<string>;
  /** Frequent words by which the language is known: where they are missing, its words are those of another one. */
  readonly signs: ReadonlySet<string>;
}

const words = (list: string): ReadonlySet<string> => new Set(list.split(' ').filter((word) => word !== ''));

function language(negations: string, restrictions: string, prefixed: string, signs: string): Language {
  return {
    negations: words(negations),
    restrictions: words(restrictions),
    prefixed: words(prefixed),
    signs: words(signs),
  };
}

/**
 * The negations are the words with `Polarity=Neg` or `PronType=Neg` in Universal Dependencies 2
 * (https://universaldependencies.org/LANGUAGE/feat/Polarity.html and .../PronType.html), without those that mostly mean
 * something else, and the participles and verbs by which the language prohibits; the restrictions are its translations
 * of only, except, unless.
 */
const LANGUAGES: Readonly<Record<string, Language>> = {
  en: language(
    'not no never none nor neither nobody nothing nowhere cannot forbidden forbid forbids prohibited prohibit prohibits banned disallowed',
    'unless except only',
    'without avoid avoids refrain refrains refuse refuses refused fails failed unable',
    'the of and to is are that with for from by at this be must may shall on in',
  ),
  de: language(
    'nicht nichts nie niemals niemand niemandem niemanden kein keine keinem keinen keiner keines keinesfalls keineswegs nirgends weder verboten untersagt verbietet unzulässig',
    'nur lediglich ausschließlich außer ausgenommen',
    'ohne vermeiden vermeide',
    'der die das und ist sind für mit dem den des ein eine auf von zu im werden wird',
  ),
  fr: language(
    'ne pas jamais rien aucun aucune aucunement nul nulle ni non guère interdit interdite interdits interdites défendu interdisent',
    'sauf hormis excepté uniquement seulement',
    'sans éviter évitez',
    'le la les des une est sont et pour avec dans du au aux qui sur par',
  ),
  es: language(
    'no nunca jamás nadie nada ningún ninguno ninguna ni tampoco prohibido prohibida prohibidos prohibidas prohíbe',
    'salvo excepto solo sólo solamente únicamente',
    'sin evitar evite evita',
    'el los las una es son y para con del que en se por al su',
  ),
  it: language(
    'no non mai nessuno nessuna nessun niente nulla né neanche nemmeno neppure vietato vietata vietati vietate proibito proibita',
    'tranne eccetto salvo solo soltanto solamente',
    'senza evitare evita',
    'il lo gli della dei delle è sono e per con che di una nel si al',
  ),
  pt: language(
    'não nunca jamais ninguém nada nenhum nenhuma nem tampouco proibido proibida proibidos proibidas',
    'exceto salvo só somente apenas',
    'sem evitar evite',
    'os as uma é são e para com dos das que em se por ao na no do da',
  ),
  nl: language(
    'niet niets nooit niemand geen nergens noch verboden',
    'slechts alleen uitsluitend behalve tenzij',
    'zonder vermijd vermijden',
    'het een en is zijn voor met van de op te dat deze wordt worden',
  ),
  sv: language(
    'inte aldrig ej ingen inget inga ingenting icke förbjudet förbjuden',
    'endast bara utom förutom',
    'utan undvik',
    'och att det som en ett är för med av på till den',
  ),
  da: language(
    'ikke aldrig aldri ingen intet ingenting forbudt',
    'kun bare undtagen unntatt',
    'uden uten undgå unngå',
    'og at det som en et er for med af av på til den',
  ),
  pl: language(
    'nie nigdy nikt nic żaden żadna żadne ani zabronione zabrania zakazane',
    'tylko wyłącznie jedynie oprócz poza',
    'bez unikać unikaj',
    'i w na z do jest są się że dla od po oraz przez',
  ),
  ru: language(
    'не нет ни никогда никто ничего нельзя запрещено запрещается запрещён запрещена',
    'только лишь кроме исключительно',
    'без избегать избегайте',
    '',
  ),
  tr: language(
    'değil asla hiç hiçbir yasak yasaktır yok',
    'yalnızca sadece ancak hariç',
    '',
    've bir bu için ile',
  ),
  vi: language('không chưa đừng chẳng cấm', 'chỉ trừ', '', 'và của là các được cho'),
  id: language(
    'tidak bukan jangan tanpa belum dilarang',
    'hanya kecuali',
    '',
    'dan yang di untuk dengan adalah',
  ),
  ar: language('لا لم لن ليس ليست ممنوع محظور يحظر يمنع غير', 'إلا فقط سوى', 'بدون دون', ''),
};

/**
 * Negations and restrictions of scripts that are written without spaces around words, or, in Korean, that are parts of
 * words (Universal Dependencies 2, as above). Without the common words that hold the same character: 不同, 未来, 非常.
 */
const UNSPACED_NEGATION =
  /不(?![同仅但过少断])|[没沒](?!收)|未(?![来來])|[无無](?![论論线線])|(?<!除)非(?![常洲])|[勿莫]|(?<![特分级区类个性])别(?![的人名])|禁|ません|なかっ|な[いくけ]|ぬ|ずに|않|못|없|아니|금지|(?:^|\s)안\s|마십시오|마세요|말아|마라|말 것|ไม่|มิได้|อย่า|ห้าม|ปราศจาก/u;
const UNSPACED_RESTRICTION =
  /除非|除了|(?<!不)[仅僅]|(?<![一二两三几\d])只|のみ|だけ|しか|以外|限り|제외|오직|한하|เท่านั้น|เพียง|ยกเว้น|เว้นแต่|นอกจาก/u;

/** Scripts whose negations are known here. In another one nobody can say what was cut off. */
const KNOWN_SCRIPTS =
  /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Arabic}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Common}\p{Script=Inherited}]/u;

/** What of a sentence stands outside of a quote. */
export interface Outside {
  readonly before: string;
  readonly after: string;
}

/**
 * True when what is left out of a sentence can turn or narrow the rest of it.
 * @param context the text around, which tells the language.
 */
export function turnsQuote({ before, after }: Outside, context: string): boolean {
  const outside = `${before} \u2026 ${after}`;
  if (UNSPACED_NEGATION.test(outside) || UNSPACED_RESTRICTION.test(outside)) return true;
  for (const letter of outside.matchAll(/\p{L}/gu)) if (!KNOWN_SCRIPTS.test(letter[0])) return true;
  const languages = listLanguages(context);
  const isTurned = (word: string) =>
    isContracted(word) ||
    languages.some(({ negations, restrictions }) => negations.has(word) || restrictions.has(word));
  if (splitWords(withoutNumero(outside)).some(isTurned)) return true;
  const clause = splitWords(before.slice(before.search(/[^,;:]*$/)));
  return clause.some((word) => languages.some(({ prefixed }) => prefixed.has(word)));
}

/** True when the text says that something is not so. `No. 5` and `No 5` are numbers, not negations. */
export function isNegated(text: string, context: string): boolean {
  if (UNSPACED_NEGATION.test(text)) return true;
  const languages = listLanguages(context);
  const english = languages.includes(LANGUAGES.en as Language);
  return splitWords(withoutNumero(text)).some(
    // A truth value is often quoted: `active: false`.
    (word) =>
      (english && (isNegation(word) || word === 'false')) ||
      languages.some(({ negations }) => negations.has(word)),
  );
}

/** `don't`, and `n'est` with the `ne` of French in it. */
const isContracted = (word: string): boolean => /n['’]t$|^n['’]\p{L}/u.test(word);

function withoutNumero(text: string): string {
  return text.replace(/\bno\.? ?(?=\d)/gi, '');
}

/** How many signs of one language rule out those with hardly any. */
const CLEAR_SIGNS = 2;

/** The languages a text may be in: `no` denies in English, and is a preposition in Portuguese. */
function listLanguages(text: string): readonly Language[] {
  const said = splitWords(text);
  const counted = Object.values(LANGUAGES).map((language) => ({
    language,
    count: language.signs.size === 0 ? said.length : said.filter((word) => language.signs.has(word)).length,
  }));
  const most = Math.max(
    ...counted.filter(({ language }) => language.signs.size > 0).map(({ count }) => count),
  );
  const possible = counted.filter(({ count }) => most < CLEAR_SIGNS || (count > 0 && count * 3 >= most));
  return possible.map(({ language }) => language);
}
