export { type Drift, detectDrift } from './drift.ts';
export type { DriftFinding, DriftLevel } from './finding.ts';
