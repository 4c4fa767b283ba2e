export { type EndToEndCase, type EndToEndReport, runEndToEnd, scriptedPlanner } from './end-to-end.ts';
export { fuzzPlans, isClean, type OfflineOptions, type OfflineReport, runOfflineEval } from './offline.ts';
