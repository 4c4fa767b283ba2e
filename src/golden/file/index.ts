export { keptPath, keptRequestHeaders, keptResponseHeaders } from './allow-list.ts';
export { editedPlaces, sealGolden } from './checksum.ts';
export {
  ABSENT,
  type Difference,
  describeDifference,
  differencesBetween,
  type Finding,
  type Tolerance,
} from './difference.ts';
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
export { fromGoldenInput, secretsOf, toGoldenInput } from './input.ts';
export { GoldenMismatchError } from './mismatch.ts';
export {
  type GoldenProblem,
  inspectGolden,
  isExpired,
  parseGolden,
  type ReadGoldenOptions,
  readGolden,
} from './read.ts';
export { Scrubber } from './scrubber.ts';
export { fromWireResponse, noResponse, toNetworkFault, toWireResponse } from './wire-response.ts';
export { formatGolden, writeGolden } from './write.ts';
