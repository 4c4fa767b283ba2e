/**
 * Computes the fields of GenAI and MCP spans: as they end in any SDK, late in a pipeline of our own, or as a service
 * receives them (`Enricher`). May import `base`, `json`, `signals`, `wire` and `interaction`.
 */
export { type EnrichOptions, enrich } from './enrich.ts';
export { Enricher, innermostFirst } from './enricher.ts';
export {
  type GovernanceFields,
  getGovernance,
  governanceFromBaggage,
  governanceToBaggage,
  isName,
  pairFallback,
  setGovernance,
} from './governance.ts';
export { DeferredEnrichment } from './late/index.ts';
export {
  CAPTURE_CONTENT_VARIABLE,
  type ObservatorySpanProcessorOptions,
  PROCESSOR_OPTIONS,
  resolveCaptureContent,
  withEvidence,
} from './options.ts';
export { RecentMap } from './recent-map.ts';
export { checkFields, toAttributes, type WritableSpan } from './set-fields.ts';
export { ObservatorySpanProcessor } from './span-processor.ts';
export type { ProcessorStats } from './tally.ts';
