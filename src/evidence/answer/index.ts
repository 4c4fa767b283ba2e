export { admitsFailure } from './admissions.ts';
export { type ActClaim, listActClaims, toActStem } from './claims.ts';
export {
  isAdvice,
  isConditional,
  isOffer,
  isPlan,
  listStatements,
  type Sentence,
  type SentenceKind,
} from './statements.ts';
