export { editedPlaces, sealGolden } from './checksum.ts';
export {
  type AnswerCheck,
  type ComparisonRules,
  type ExchangeUsage,
  FORMAT_VERSION,
  type Golden,
  type GoldenCategory,
  type GoldenChecksum,
  type GoldenInput,
  type GoldenOutput,
  type GoldenRunner,
  type GoldenSource,
  type GoldenVersions,
  type Matcher,
  type McpCall,
  type McpCallOutcome,
  type McpCassette,
  type McpConnection,
  type McpServerCassette,
  type PerformanceBounds,
  type ProviderExchange,
  type StreamEvent,
  type UnsealedGolden,
  type WireRequest,
  type WireResponse,
} from './format.ts';
export { type Playback, playGolden } from './playback.ts';
export {
  type GoldenProblem,
  inspectGolden,
  isExpired,
  parseGolden,
  type ReadGoldenOptions,
  readGolden,
} from './read.ts';
export { formatGolden, writeGolden } from './write.ts';
