export type { Exercised } from './coverage.ts';
export {
  type Coverage,
  type GoldenLibrary,
  type ListedGolden,
  listGoldens,
  type UnreadableGolden,
} from './list.ts';
