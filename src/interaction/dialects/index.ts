export { hasLongContent } from './content-size.ts';
export { readInteraction, readMessages, readWritten } from './read.ts';
