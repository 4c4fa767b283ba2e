export type { Echo } from './leaves.ts';
export {
  checkSummary,
  type GroundedItem,
  type GroundedSummary,
  MAX_CLAIM_WORDS,
  SECTIONS,
  type SummaryVerdict,
} from './summary.ts';
