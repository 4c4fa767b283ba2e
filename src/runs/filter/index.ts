export { complete, type FilterCompletion, filterValue, type SeenNames } from './complete.ts';
export { amountOf, durationOf, type FilterProblem, type FilterTerm, parseFilter, timeOf } from './parse.ts';
