import { sizesIn } from './units.ts';

/** The words of each language with their numbers, in the forms that they take inside a longer one too. */
const NUMBERS: Readonly<Record<string, string>> = {
  en: 'one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 thirteen=13 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 hundred=100 thousand=1e3 million=1e6 billion=1e9',
  de: 'eins=1 zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwölf=12 ein=1 eine=1 dreizehn=13 vierzehn=14 fünfzehn=15 sechzehn=16 siebzehn=17 achtzehn=18 neunzehn=19 zwanzig=20 dreißig=30 vierzig=40 fünfzig=50 sechzig=60 siebzig=70 achtzig=80 neunzig=90 hundert=100 tausend=1e3 millionen=1e6',
  es: 'uno=1 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12 un=1 una=1 trece=13 catorce=14 quince=15 dieciséis=16 diecisiete=17 dieciocho=18 diecinueve=19 veinte=20 veintiuno=21 veintidós=22 veintitrés=23 veinticuatro=24 veinticinco=25 veintiséis=26 veintisiete=27 veintiocho=28 veintinueve=29 treinta=30 cuarenta=40 cincuenta=50 sesenta=60 setenta=70 ochenta=80 noventa=90 cien=100 ciento=100 doscientos=200 trescientos=300 cuatrocientos=400 quinientos=500 seiscientos=600 setecientos=700 ochocientos=800 novecientos=900 mil=1e3 millón=1e6 millones=1e6',
  fr: 'deux=2 trois=3 quatre=4 cinq=5 sept=7 huit=8 neuf=9 dix=10 onze=11 douze=12 un=1 une=1 six=6 treize=13 quatorze=14 quinze=15 seize=16 vingt=20 trente=30 quarante=40 cinquante=50 soixante=60 septante=70 huitante=80 nonante=90 cent=100 cents=100 mille=1e3 millions=1e6',
  pt: 'um=1 dois=2 três=3 quatro=4 cinco=5 sete=7 oito=8 nove=9 dez=10 onze=11 doze=12 uma=1 duas=2 seis=6 treze=13 quatorze=14 catorze=14 quinze=15 dezesseis=16 dezessete=17 dezoito=18 dezenove=19 vinte=20 trinta=30 quarenta=40 cinquenta=50 sessenta=60 setenta=70 oitenta=80 noventa=90 cem=100 cento=100 duzentos=200 trezentos=300 quatrocentos=400 quinhentos=500 seiscentos=600 setecentos=700 oitocentos=800 novecentos=900 milhão=1e6 milhões=1e6',
  it: 'due=2 tre=3 quattro=4 cinque=5 sei=6 sette=7 otto=8 nove=9 dieci=10 undici=11 dodici=12 tredici=13 quattordici=14 quindici=15 sedici=16 diciassette=17 diciotto=18 diciannove=19 venti=20 trenta=30 quaranta=40 cinquanta=50 sessanta=60 settanta=70 ottanta=80 novanta=90 cento=100 duecento=200 trecento=300 quattrocento=400 cinquecento=500 mila=1e3 milioni=1e6',
};
export const NUMBER_WORDS: ReadonlyMap<string, number> = new Map(Object.values(NUMBERS).flatMap(sizesIn));
const MAX_COUNT = 12;
/** The small number that one word is; of Italian and English, "due" is not. */
export const numberOfWord = (word: string): number | undefined => {
  const number = NUMBER_WORDS.get(word);
  return number === undefined || number > MAX_COUNT || word === 'due' ? undefined : number;
};
