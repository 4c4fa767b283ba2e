export { type CompareOptions, compareWithGolden, withoutVolatile } from './compare.ts';
export { type Drift, detectDrift } from './drift.ts';
export type { DriftFinding, DriftLevel } from './finding.ts';
export { type MatchOptions, outputOf, toMatchGolden } from './match-golden.ts';
