export { type Echo, readLeaves } from './leaves.ts';
export { hasInvisible } from './normalize.ts';
export {
  checkSummary,
  type GroundedItem,
  type GroundedSummary,
  MAX_CLAIM_WORDS,
  SECTIONS,
  type SummaryVerdict,
} from './summary.ts';
