export { type Constructor, load, locate } from './locate.ts';
export type { OtlpOptions, StartOptions } from './options.ts';
export { createOtlpExporter } from './otlp-exporter.ts';
export { type Observatory, startObservatory } from './start-observatory.ts';
