export { type GoldenFromTraceOptions, goldenFromTrace } from './rebuild.ts';
