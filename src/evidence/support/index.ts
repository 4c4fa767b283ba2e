export { sentenceEnds } from './sentence-ends.ts';
export {
  computeSupport,
  type Support,
  type SupportFinding,
  type SupportInput,
  type SupportKind,
} from './support.ts';
