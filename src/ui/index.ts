export {
  type Comparison,
  compareRuns,
  explainRun,
  formatCount,
  formatDuration,
  formatUsd,
  sentenceText,
} from './explain/index.ts';
export { type McpSdk, type McpStdioSdk, type StoreMcp, serveStoreOverStdio, storeMcp } from './mcp/index.ts';
export { type Page, type SenderSettings, startPage, type WebhookOptions } from './server/index.ts';
export {
  contextTax,
  findRun,
  listRuns,
  listWaiting,
  type RunRow,
  type RunSpan,
  readRunSpans,
  readWaiting,
  type TaxedTool,
  type TaxReport,
  type WaitingDetail,
  type WaitingLists,
  type WaitingRow,
} from './store/index.ts';
