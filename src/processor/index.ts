export { CAPTURE_CONTENT_VARIABLE, resolveCaptureContent } from './capture-content.ts';
export { DeferredEnrichment } from './deferred-enrichment.ts';
export { type EnrichOptions, enrich } from './enrich.ts';
export { type GovernanceFields, getGovernance, isName, pairFallback, setGovernance } from './governance.ts';
export { governanceFromBaggage, governanceToBaggage } from './governance-baggage.ts';
export { type ObservatorySpanProcessorOptions, PROCESSOR_OPTIONS, withEvidence } from './options.ts';
export { RecentMap } from './recent-map.ts';
export { checkFields, toAttributes, type WritableSpan } from './set-fields.ts';
export { ObservatorySpanProcessor, type ProcessorStats } from './span-processor.ts';
