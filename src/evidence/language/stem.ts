/** The first that fits is cut off. */
const ENDINGS = ['ing', 'ed', 'es', 's', 'ly'];
const MIN_STEM = 2;

/** The beginning that the forms of an English word share, of one in lower case: `cancel` of "cancelled". */
export function findStem(word: string): string {
  const stem = /['’]s$/.test(word) ? word.slice(0, -2) : word;
  if (stem.length > 4 && /ie[sd]$/.test(stem)) return `${stem.slice(0, -3)}y`;
  const ending = ENDINGS.find((one) => stem.endsWith(one)) ?? '';
  const rest = stem.length - ending.length < MIN_STEM ? stem : stem.slice(0, stem.length - ending.length);
  return rest.at(-1) === rest.at(-2) ? rest.slice(0, -1) : rest;
}

/** The stem of a verb, whose forms differ by an `e`: `paus` of "pause" and "paused". */
export const toVerbStem = (word: string): string => findStem(word).replace(/(?<=..)e$/, '');
