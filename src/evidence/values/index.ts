export { Addends } from './derive.ts';
export { type Figure, numbersIn } from './figures.ts';
export { figuresOutside, Known } from './known.ts';
export { daysIn, timesIn } from './moments.ts';
export { bareName, type NamedThing, namesIn } from './names.ts';
export { numberOfWord } from './number-words.ts';
export { walkValues } from './records.ts';
export { Slips } from './slips.ts';
export { type KeyedValue, keyedValuesIn, numberKey } from './value-keys.ts';
