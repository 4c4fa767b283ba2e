export { JoinedSources } from './joined-sources.ts';
export { sentenceEnds } from './sentence-ends.ts';
export {
  type Support,
  type SupportFinding,
  type SupportInput,
  type SupportKind,
  supportOf,
} from './support.ts';
