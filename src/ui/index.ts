export {
  type Comparison,
  compareRuns,
  explainRun,
  formatCount,
  formatDuration,
  formatUsd,
  sentenceText,
} from './explain/index.ts';
export { startPage } from './server/index.ts';
export { findRun, listRuns, type RunRow, type RunSpan, readRunSpans } from './store/index.ts';
