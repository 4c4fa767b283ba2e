export { admitsFailure } from './admissions.ts';
export { type ActClaim, actClaimsOf, actStemOf } from './claims.ts';
export {
  isAdvice,
  isConditional,
  isPlan,
  type Sentence,
  type SentenceKind,
  statementsOf,
} from './statements.ts';
