export { type Collector, startCollector } from './collector.ts';
export type { CollectorOptions } from './options.ts';
export { type OwnMetrics, openMetrics } from './own-metrics.ts';
export { type Address, formatAddress } from './receiver/index.ts';
