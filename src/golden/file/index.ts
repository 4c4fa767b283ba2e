export { type ApproveGoldenOptions, approveGolden, isApproved } from './approve.ts';

export {
  EXPIRY_DAYS,
  freeName,
  goldenOfProgram,
  inTurns,
  listModels,
  type ProgramHead,
  type ProgramPart,
  programOutput,
  type TakenExchange,
  toolHashes,
} from './assemble.ts';
export { sealGolden } from './checksum.ts';
export {
  answerTo,
  contentMembers,
  contentMessages,
  contentTools,
  type LiveSides,
  oddFinish,
  type RequestContent,
  toContent,
  writeWhole,
  writtenCalls,
} from './content-request.ts';
export { describeDifference, type Finding, GoldenMismatchError } from './difference.ts';
export {
  type AnswerCheck,
  type ComparisonRules,
  FORMAT_VERSION,
  GOLDEN_CATEGORIES,
  type Golden,
  type GoldenCategory,
  type GoldenOutput,
  type GoldenSource,
  type GoldenVersions,
  type Matcher,
  type McpCall,
  type McpCassette,
  type McpConnection,
  type McpServerCassette,
  type NetworkFault,
  OFFERS,
  type ProviderExchange,
  type Reached,
  type UnsealedGolden,
  type WireRequest,
  type WireResponse,
} from './format.ts';
export { importExchanges, type RecordedExchange, readRecordedExchange } from './import.ts';
export { fromGoldenInput, readSecrets, toGoldenInput } from './input.ts';
export { Journal } from './journal.ts';
export { A_CATEGORY, A_DATE_OR_NULL, A_GOLDEN, A_NUMBER_OR_NULL } from './option-kinds.ts';
export { isSameButFor, isSameButForSecrets, matchPattern, withRecordedParts } from './pattern.ts';
export {
  type GoldenProblem,
  inspectGolden,
  parseGolden,
  type ReadGoldenOptions,
  readGolden,
} from './read.ts';
export {
  type ExchangeStory,
  exchangeCost,
  exchangeUsage,
  isRefused,
  readAnswer,
  readExchange,
} from './read-exchange.ts';
export { FORMS, keptResponseHeaders, Scrubber } from './scrubber.ts';
export { learnMatcher } from './volatile.ts';
export {
  countEvents,
  fromWireResponse,
  isEventStream,
  noResponse,
  onAbort,
  type Pace,
  type RequestHead,
  toNetworkFault,
  toWireRequest,
  toWireResponse,
} from './wire-response.ts';
export { formatGolden, writeGolden } from './write.ts';
