/**
 * The service of `mcp-observatory collect`: receives OTLP over HTTP and gRPC, enriches spans and stores or forwards
 * them. It may import the rooms of enrichment and storage, `base` to `durable`.
 */
export { type Collector, startCollector } from './collector.ts';
export type { CollectorOptions } from './options.ts';
export { openMetrics } from './own-metrics.ts';
export type { Address } from './receiver/index.ts';
