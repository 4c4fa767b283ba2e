export { type ChangedTool, changedTools, type DefinitionVersion } from './definitions.ts';
export { type RunMetrics, runMetrics } from './metrics.ts';
export {
  annotateRun,
  type ComparedView,
  compareViews,
  listViews,
  noteViewTold,
  removeView,
  type SavedView,
  saveView,
  VIEW_MEASURES,
} from './notes.ts';
export type { RunRow } from './run-row.ts';
export { findRun, listRuns, noteSearch, type RunList } from './runs.ts';
export { readSaid, readWholeTexts, type Said, type SaidPart } from './said.ts';
export { listSessions, type SessionGroup, type SessionList } from './sessions.ts';
export {
  findSpans,
  type RelatedRuns,
  type RunSpan,
  readRelated,
  readRunSpan,
  readRunSpans,
  readShapes,
  type SentSpan,
  type ShapePart,
  withNulls,
  withoutNulls,
} from './spans.ts';
export { answerSql } from './sql.ts';
export { contextTax, type TaxedTool, type TaxQuery, type TaxReport } from './tax.ts';
export { type ToolRow, toolHealth } from './tool-health.ts';
export { COST_DIMENSIONS, type CostRow, costs } from './tools.ts';
export {
  listApprovals,
  listWaiting,
  readWaiting,
  toolRow,
  type WaitingDetail,
  type WaitingLists,
  type WaitingRow,
} from './waiting.ts';
export { listWaitingTools, type WaitingTool } from './waiting-tools.ts';
