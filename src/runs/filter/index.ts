export { complete, type FilterCompletion, filterValue, type SeenNames } from './complete.ts';
export {
  computeDuration,
  type FilterProblem,
  type FilterTerm,
  findAmount,
  findTime,
  parseFilter,
} from './parse.ts';
