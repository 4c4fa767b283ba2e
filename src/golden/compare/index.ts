export {
  checkBounds,
  compareWithGolden,
  type MatchOptions,
  toOutput,
  withoutVolatile,
} from './compare.ts';
export { type Drift, detectDrift } from './drift.ts';
export type { DriftFinding, DriftLevel } from './finding.ts';
export { computeEffectiveness, type Effectiveness } from './mutate.ts';
export { readTolerance } from './rules.ts';
