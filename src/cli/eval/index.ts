export { type EndToEndCase, runEndToEnd } from './end-to-end.ts';
export { isClean, type OfflineReport, runOfflineEval } from './offline.ts';
