export { compareWithGolden, type MatchOptions, outputOf, toMatchGolden, withoutVolatile } from './compare.ts';
export { type Drift, detectDrift } from './drift.ts';
export type { DriftFinding, DriftLevel } from './finding.ts';
export { type Effectiveness, effectivenessOf } from './mutate.ts';
export { toleranceOf } from './rules.ts';
