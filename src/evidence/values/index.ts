export { Addends } from './derive.ts';
export { type Figure, figuresIn, numbersIn } from './figures.ts';
export { figuresOutside, Known } from './known.ts';
export { daysIn, timesIn } from './moments.ts';
export { bareName, type NamedThing, namesIn } from './names.ts';
export { NUMBER_WORDS, numberOfWord } from './number-words.ts';
export { walkValues } from './records.ts';
export { Slips } from './slips.ts';
