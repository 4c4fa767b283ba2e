export { type Destination, tryDestinations } from './destinations.ts';
export type { StartOptions } from './options.ts';
export { diagnose } from './registration/index.ts';
export { type Observatory, startObservatory } from './start-observatory.ts';
