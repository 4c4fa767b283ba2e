export { type Collector, startCollector } from './collector.ts';
export type { CollectorOptions } from './options.ts';
export { openMetrics } from './own-metrics.ts';
export type { Address } from './receiver/index.ts';
