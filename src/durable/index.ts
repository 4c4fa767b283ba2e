/**
 * Keeps spans until a back end has them: in memory, on disk in a spool, and at the end of a process. It may import
 * `base`, `otlp` and `postgres`.
 */
export type { DurableSpanProcessorOptions, SpoolOptions, SyncPolicy } from './options.ts';
export {
  createOtlpExporter,
  createOtlpMetricExporter,
  locateExporter,
  type OtlpMetricExporter,
  type OtlpOptions,
  type OtlpSpanExporter,
} from './otlp-exporter.ts';
export { postOtlp, withoutSecrets } from './otlp-request.ts';
export type { OtlpRequest } from './otlp-sender.ts';
export { DurableSpanProcessor } from './processor.ts';
export { type SpoolStatus, spoolStatus } from './spool-status.ts';
export type { DurableStats } from './stats.ts';
export { DurableSpanWriter, type WriteOutcome } from './writer.ts';
