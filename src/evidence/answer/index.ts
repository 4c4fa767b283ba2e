export { type ActClaim, listActClaims, toActStem } from './claims.ts';
export {
  admitsFailure,
  isAdvice,
  isConditional,
  isOffer,
  isPlan,
  listStatements,
  type Sentence,
  type SentenceKind,
} from './statements.ts';
