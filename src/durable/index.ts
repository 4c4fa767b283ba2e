export type { DurableSpanProcessorOptions, SpoolOptions, SyncPolicy } from './options.ts';
export { createOtlpExporter, locateExporter, type OtlpOptions } from './otlp-exporter.ts';
export { DurableSpanProcessor } from './processor.ts';
export { decodeSpans, encodeSpans } from './span-codec.ts';
export { type SpoolStatus, spoolStatus } from './spool-status.ts';
export type { DurableStats } from './stats.ts';
export { DurableSpanWriter, type WriteOutcome } from './writer.ts';
