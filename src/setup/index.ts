/**
 * Starts all of it in a program: `register`, `startObservatory`, the application's own SDK beside it, and the end of
 * the process. It may import `base` to `execution`.
 */
export { type Destination, tryDestinations } from './destinations.ts';
export type { StartOptions } from './options.ts';
export { diagnose, installedPackage } from './registration/index.ts';
export { type Observatory, startObservatory } from './start-observatory.ts';
