export { type MatchOptions, toMatchGolden } from './match-golden.ts';
export { type PolicyStep, type RecordPolicyStepOptions, recordPolicyStep } from './policy-step.ts';
export { type ReplayOptions, type ReplayReport, replayGolden } from './replay-golden.ts';
