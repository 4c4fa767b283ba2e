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
export { startPage } from './server/index.ts';
export {
  contextTax,
  findRun,
  listRuns,
  type RunRow,
  type RunSpan,
  readRunSpans,
  type TaxedTool,
  type TaxReport,
} from './store/index.ts';
