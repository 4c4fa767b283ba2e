export { CAPTURE_CONTENT_VARIABLE, resolveCaptureContent } from './capture-content.ts';
export { type EnrichOptions, enrich } from './enrich.ts';
export { type GovernanceFields, getGovernance, setGovernance } from './governance.ts';
export type { ObservatorySpanProcessorOptions } from './options.ts';
export { setFields, toAttributes, type WritableSpan } from './set-fields.ts';
export { ObservatorySpanProcessor, type ProcessorStats } from './span-processor.ts';
