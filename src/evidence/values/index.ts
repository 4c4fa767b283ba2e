export { type Figure, numberOfWord, numbersIn } from './figures.ts';
export { figuresOutside, Known } from './known.ts';
export { type Day, daysIn, type TimeOfDay, timesIn } from './moments.ts';
export { bareName, type NamedThing, namesIn } from './names.ts';
export { walkValues } from './records.ts';
export { Slips } from './slips.ts';
