export { complete, type FilterCompletion, filterValue, type SeenNames } from './complete.ts';
export {
  type FilterProblem,
  type FilterTerm,
  findAmount,
  findTime,
  formatProblem,
  parseFilter,
  readDuration,
} from './parse.ts';
