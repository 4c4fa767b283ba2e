export { readInteraction } from './read.ts';
