export { hasLongContent } from './content-size.ts';
export { readInteraction, readSpanMessages, readWritten } from './read.ts';
