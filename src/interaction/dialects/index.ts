export { hasLongContent } from './content-size.ts';
export { readInteraction, readWritten } from './read.ts';
