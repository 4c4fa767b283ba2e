/** Numbers that are written in words, in English, German, Spanish, French, Portuguese, Italian and Chinese characters. */

/** A number in words, and where it stands. */
export interface WrittenNumber {
  readonly start: number;
  readonly end: number;
  readonly value: number;
}

/** The words of each language with their numbers, in the forms that they take inside a longer one too. */
const NUMBERS: Readonly<Record<string, string>> = {
  en: 'one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 thirteen=13 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 hundred=100 thousand=1e3 million=1e6 billion=1e9',
  de: 'eins=1 zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwölf=12 ein=1 eine=1 dreizehn=13 vierzehn=14 fünfzehn=15 sechzehn=16 siebzehn=17 achtzehn=18 neunzehn=19 zwanzig=20 dreißig=30 vierzig=40 fünfzig=50 sechzig=60 siebzig=70 achtzig=80 neunzig=90 hundert=100 tausend=1e3 millionen=1e6',
  es: 'uno=1 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12 un=1 una=1 trece=13 catorce=14 quince=15 dieciséis=16 diecisiete=17 dieciocho=18 diecinueve=19 veinte=20 veintiuno=21 veintidós=22 veintitrés=23 veinticuatro=24 veinticinco=25 veintiséis=26 veintisiete=27 veintiocho=28 veintinueve=29 treinta=30 cuarenta=40 cincuenta=50 sesenta=60 setenta=70 ochenta=80 noventa=90 cien=100 ciento=100 doscientos=200 trescientos=300 cuatrocientos=400 quinientos=500 seiscientos=600 setecientos=700 ochocientos=800 novecientos=900 mil=1e3 millón=1e6 millones=1e6',
  fr: 'deux=2 trois=3 quatre=4 cinq=5 sept=7 huit=8 neuf=9 dix=10 onze=11 douze=12 un=1 une=1 six=6 treize=13 quatorze=14 quinze=15 seize=16 vingt=20 trente=30 quarante=40 cinquante=50 soixante=60 septante=70 huitante=80 nonante=90 cent=100 cents=100 mille=1e3 millions=1e6',
  pt: 'um=1 dois=2 três=3 quatro=4 cinco=5 sete=7 oito=8 nove=9 dez=10 onze=11 doze=12 uma=1 duas=2 seis=6 treze=13 quatorze=14 catorze=14 quinze=15 dezesseis=16 dezessete=17 dezoito=18 dezenove=19 vinte=20 trinta=30 quarenta=40 cinquenta=50 sessenta=60 setenta=70 oitenta=80 noventa=90 cem=100 cento=100 duzentos=200 trezentos=300 quatrocentos=400 quinhentos=500 seiscentos=600 setecentos=700 oitocentos=800 novecentos=900 milhão=1e6 milhões=1e6',
  it: 'due=2 tre=3 quattro=4 cinque=5 sei=6 sette=7 otto=8 nove=9 dieci=10 undici=11 dodici=12 tredici=13 quattordici=14 quindici=15 sedici=16 diciassette=17 diciotto=18 diciannove=19 venti=20 trenta=30 quaranta=40 cinquanta=50 sessanta=60 settanta=70 ottanta=80 novanta=90 cento=100 duecento=200 trecento=300 quattrocento=400 cinquecento=500 mila=1e3 milioni=1e6',
};
const WORDS: ReadonlyMap<string, number> = new Map(
  Object.values(NUMBERS).flatMap((table) =>
    table
      .split(' ')
      .map((entry) => entry.split('=') as [string, string])
      .map(([word, value]) => [word, Number(value)] as const),
  ),
);
const MAX_COUNT = 12;
/** The small number that one word is; of Italian and English, "due" is not. */
export const numberOfWord = (word: string): number | undefined => {
  const number = WORDS.get(word);
  return number === undefined || number > MAX_COUNT || word === 'due' ? undefined : number;
};

/** Articles and the like, which are numbers only beside others; and what joins numbers. */
const NO_NUMBER_ALONE: ReadonlySet<string> = new Set(
  'one ein eine un una uno une um uma mil cent cents mille tre sei seis six'.split(' '),
);
const JOINING: ReadonlySet<string> = new Set(['and', 'und', 'y', 'et', 'e']);
const LONGEST = Math.max(...[...WORDS.keys()].map((word) => word.length));
const MAX_WORD = 60;

/** The parts of `zweihundertfünfundzwanzig`; undefined if it is no such word. */
function splitWord(word: string): readonly number[] | undefined {
  const whole = WORDS.get(word);
  if (whole !== undefined) return [whole];
  if (word.length > MAX_WORD) return undefined;
  const parts: number[] = [];
  for (let at = 0; at < word.length; ) {
    let taken = 0;
    for (let length = Math.min(LONGEST, word.length - at); length > 2 && taken === 0; length -= 1) {
      const value = WORDS.get(word.slice(at, at + length));
      if (value !== undefined) {
        parts.push(value);
        taken = length;
      }
    }
    if (taken === 0 && word.startsWith('und', at) && at > 0) taken = 3;
    if (taken === 0) return undefined;
    at += taken;
  }
  return parts;
}

/** What the parts of a number come to; undefined if they are no number. */
function addUp(parts: readonly number[]): number | undefined {
  let [total, current] = [0, 0];
  for (const [i, part] of parts.entries()) {
    const before = parts[i - 1];
    if (part >= 1_000) {
      total += Math.max(current, 1) * part;
      current = 0;
    } else if (part === 100) {
      if (current >= 100) return undefined;
      current = Math.max(current, 1) * 100;
    } else if (part === 20 && before === 4) current += 76;
    else {
      // "ten twenty" is two numbers; "drei und zwanzig" and "soixante-dix" are one.
      const isAdded =
        before === undefined ||
        before >= 100 ||
        (before >= 20 && part < 20) ||
        (before < 10 && part >= 20) ||
        // "dix-sept"
        (before === 10 && part >= 7 && part < 10);
      if (!isAdded) return undefined;
      current += part;
    }
  }
  return total + current;
}

const WORD = /\p{L}{2,60}/gu;
const MAX_NUMBERS = 400;

/** The numbers of a text in lower case that are written in words. */
export function writtenNumbersIn(text: string): readonly WrittenNumber[] {
  const found: WrittenNumber[] = [];
  let run: { parts: number[]; words: number; first: string; start: number; end: number } | undefined;
  const close = (): void => {
    const value = run === undefined ? undefined : addUp(run.parts);
    const isAlone = run?.words === 1 && NO_NUMBER_ALONE.has(run.first);
    if (run !== undefined && value !== undefined && !isAlone)
      found.push({ start: run.start, end: run.end, value });
    run = undefined;
  };
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (found.length >= MAX_NUMBERS) break;
    const isNext =
      run !== undefined && /^[\s-]{1,2}$|^[\s-](?:and|und|y|et|e)[\s-]$/.test(text.slice(run.end, index));
    if (isNext && JOINING.has(word)) continue;
    const parts = splitWord(word);
    if (run !== undefined && !(isNext && parts !== undefined)) close();
    if (parts === undefined) continue;
    if (run === undefined) run = { parts: [], words: 0, first: word, start: index, end: index };
    run.parts.push(...parts);
    run.words += 1;
    run.end = index + word.length;
  }
  close();
  return /[一二三四五六七八九十百千万億亿两〇零]/.test(text) ? [...found, ...chineseNumbersIn(text)] : found;
}

const CHINESE = /[〇零一二两三四五六七八九十百千万萬億亿]{2,16}/g;
const DIGITS = '〇一二三四五六七八九';
const PLACES = '十百千';
const MYRIADS: Readonly<Record<string, number>> = { 万: 1e4, 萬: 1e4, 億: 1e8, 亿: 1e8 };

function chineseNumbersIn(text: string): readonly WrittenNumber[] {
  return [...text.matchAll(CHINESE)].slice(0, MAX_NUMBERS).map(({ 0: raw, index }) => {
    let [total, section, digit] = [0, 0, 0];
    for (const sign of raw) {
      const place = 10 ** (PLACES.indexOf(sign) + 1);
      const myriad = MYRIADS[sign];
      if (place > 1) [section, digit] = [section + Math.max(digit, 1) * place, 0];
      else if (myriad !== undefined) {
        total += Math.max(section + digit, 1) * myriad;
        [section, digit] = [0, 0];
      } else digit = DIGITS.indexOf(sign === '两' ? '二' : sign === '零' ? '〇' : sign);
    }
    return { start: index, end: index + raw.length, value: total + section + digit };
  });
}
