/**
 * Records runs of `mcpGhost` as goldens, replays them without a model or server, and compares. It may import the rooms
 * up to `orchestrator`.
 */
export {
  compareWithGolden,
  computeEffectiveness,
  type Drift,
  type DriftFinding,
  type DriftLevel,
  detectDrift,
  type Effectiveness,
  type MatchOptions,
  withoutVolatile,
} from './compare/index.ts';
export {
  type AnswerCheck,
  type ApproveGoldenOptions,
  approveGolden,
  type ComparisonRules,
  type ExchangeStory,
  exchangeCost,
  type Finding,
  FORMAT_VERSION,
  formatGolden,
  fromGoldenInput,
  GOLDEN_CATEGORIES,
  type Golden,
  type GoldenCategory,
  GoldenMismatchError,
  type GoldenOutput,
  type GoldenProblem,
  type GoldenSource,
  importExchanges,
  inspectGolden,
  isApproved,
  keptResponseHeaders,
  type Matcher,
  type McpCall,
  type McpConnection,
  type ProviderExchange,
  parseGolden,
  programOutput,
  type ReadGoldenOptions,
  type RecordedExchange,
  readExchange,
  readGolden,
  readRecordedExchange,
  Scrubber,
  sealGolden,
  type UnsealedGolden,
  writeGolden,
} from './file/index.ts';
export { type GoldenFromTraceOptions, goldenFromTrace } from './from-trace/index.ts';
export { type GhostOptions, type GoldenOption, mcpGhost } from './ghost.ts';
export {
  checkProgram,
  type Departure,
  type DepartureKind,
  type Program,
  type ProgramCheck,
  recordThisProgram,
  replayThisProgram,
  updateProgram,
} from './program/index.ts';
export {
  ModelRecorder,
  type PolicyStep,
  type RecordGoldenOptions,
  type RecordPolicyStepOptions,
  recordPolicyStep,
} from './record/index.ts';
export {
  canonicalRequest,
  GoldenPlayer,
  openLoopback,
  type Playback,
  type PlayerOptions,
  playGolden,
  type ReplayGoldenOptions,
  type ReplayOptions,
  type ReplayReport,
  replayGolden,
} from './replay/index.ts';
export { toMatchGolden } from './to-match-golden.ts';
