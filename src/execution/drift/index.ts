export { observeDrift } from './metrics.ts';
export { driftReport } from './report.ts';
export type {
  DriftQuery,
  DriftReport,
  DriftRule,
  DriftStatus,
  PromptDrift,
  TemplateChange,
} from './types.ts';
export { type DriftWatch, type WatchDriftOptions, watchDrift } from './watch.ts';
