export { type CallPair, type SideBySide, type SideFacts, sideBySide } from './side-by-side.ts';
