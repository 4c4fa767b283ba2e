/** From recordings to a policy, and what a policy makes of them. */
export { type Change, comparePolicies, joinChanges, type PolicyChange } from './diff.ts';
export { type LearnedPolicy, type LearnOptions, learnPolicy } from './learn.ts';
export { type DecidedCall, decideRecorded, type RecordedCall } from './recorded.ts';
