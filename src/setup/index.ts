export type { StartOptions } from './options.ts';
export { type Observatory, startObservatory } from './start-observatory.ts';
