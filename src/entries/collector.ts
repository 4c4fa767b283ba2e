export { ObservatoryError, type ObservatoryErrorCode } from '../base/index.ts';
export { type Address, type Collector, type CollectorOptions, startCollector } from '../collector/index.ts';
