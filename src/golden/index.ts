export { CassettePlayer } from './cassette-player.ts';
export { CassetteRecorder, type ConnectionRecording } from './cassette-recorder.ts';
export { editedPlaces, sealGolden } from './checksum.ts';
export { type CompareOptions, compareWithGolden, withoutVolatile } from './compare.ts';
export { type Difference, describeDifference, differencesBetween, type Finding } from './difference.ts';
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
  type NetworkFault,
  type PerformanceBounds,
  type ProviderExchange,
  type StreamEvent,
  type UnsealedGolden,
  type WireRequest,
  type WireResponse,
} from './format.ts';
export { GoldenMismatchError } from './mismatch.ts';
export { ModelRecorder } from './model-recorder.ts';
export { type Playback, playGolden } from './playback.ts';
export { GoldenPlayer, type PlayerOptions } from './player.ts';
export {
  type GoldenProblem,
  inspectGolden,
  isExpired,
  parseGolden,
  type ReadGoldenOptions,
  readGolden,
} from './read.ts';
export { Scrubber } from './scrubber.ts';
export { formatGolden, writeGolden } from './write.ts';
