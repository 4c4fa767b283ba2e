import type { Sentence } from './types.ts';

/** Words for a number, and for all of something, which is 0. */
const COUNTS: Readonly<Record<string, number>> = Object.fromEntries(
  [
    [2, 'both two beide beiden zwei ambos ambas dos deux dois duas'],
    [3, 'three drei tres trois três'],
    [4, 'four vier cuatro quatre quatro'],
    [5, 'five fünf cinco cinq'],
    [6, 'six sechs seis'],
    [7, 'seven sieben siete sept sete'],
    [8, 'eight acht ocho huit oito'],
    [10, 'ten zehn diez dix dez'],
    [
      0,
      'all every each everything everyone everybody whole entire fully alle allen alles jeder jede jedes sämtliche todos todas todo toda tous toutes tout toute',
    ],
  ].flatMap(([count, words]) =>
    String(words)
      .split(' ')
      .map((word) => [word, Number(count)]),
  ),
);
const ALL_IN_CJK = /全部|全員|全都|都|所有|すべて|全て|両方/u;
const COUNTED_IN_CJK = /([两二三四五六七八九十]|(?<!\d)[2-9])[個个件封張张名位条條台人本枚份只通]/u;
const HAN_NUMBERS = '  二三四五六七八九十';

/** "all", "both", "four": 0 stands for a word that gives no number. */
export function quantityIn({ words, text }: Sentence): number | undefined {
  for (const [i, word] of words.entries()) {
    const count = COUNTS[word.text];
    if (count === undefined || !Object.hasOwn(COUNTS, word.text)) continue;
    const [before, after] = [words[i - 1]?.text ?? '', words[i + 1]?.text ?? ''];
    if (word.text === 'all' && after === 'set') continue;
    // "table for two", "on two of them", "at six"
    if (count > 0 && /^(?:for|at|um|für|para|pour|às|las|of|von)$/.test(before)) continue;
    const isPart = (after === 'of' && count > 0) || before === 'of' || words[i - 2]?.text === 'of';
    if (!isPart) return count;
  }
  if (ALL_IN_CJK.test(text)) return 0;
  const [, counted] = COUNTED_IN_CJK.exec(text) ?? [];
  if (counted === undefined) return undefined;
  return counted === '两' ? 2 : Number(counted) || HAN_NUMBERS.indexOf(counted);
}

/** The first noun after "all", "both", "four". */
export function countedIn({ words }: Sentence): string | undefined {
  const at = words.findIndex(({ text }) => Object.hasOwn(COUNTS, text));
  const after = at < 0 ? [] : words.slice(at + 1, at + 4);
  return after.find(({ text }) => text.length > 3 && !Object.hasOwn(COUNTS, text))?.text;
}
