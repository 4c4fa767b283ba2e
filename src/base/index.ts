/**
 * What every room needs and no room owns: errors, the table of fields, names of the semantic conventions, options,
 * files, time slices. It may import no other room.
 */
import * as semconv from './semconv.ts';

export { type Attempted, bisect } from './bisect.ts';
export { readBytes } from './bounded-bytes.ts';
export { BoundedNames } from './bounded-names.ts';
export { userCacheFolder } from './cache-folder.ts';
export {
  type CamelFieldValues,
  camelCase,
  camelKeys,
  fromAttributes,
  type SnakeKeys,
  snakeCase,
  snakeKeys,
  toColumns,
} from './camel-case.ts';
export { COST_NAMES, type CostName } from './cost-names.ts';
export { parseDatabaseUrl } from './database-url.ts';
export { decodeUri } from './decode-uri.ts';
export { errorClass, isKnownErrorClass } from './error-class.ts';
export {
  errorMessage,
  invalidOption,
  ObservatoryError,
  type ObservatoryErrorCode,
  wholeNumber,
} from './errors.ts';
export { addEvaluationEvents, type EventSpan, evaluationIn, isToldByColumns } from './evaluation-events.ts';
export { isWithin, listAttributeNames, listResourceNames, toField } from './field-lookup.ts';
export {
  type AttributeColumn,
  COLUMNS,
  type Column,
  FIELDS,
  type FieldDefinition,
  type FieldValues,
  type SqlType,
  type TraceRow,
  toAttribute,
} from './fields.ts';
export { whyForeign } from './foreign-folder.ts';
export { editDistance, matchesParts, misspelled, nearest, refuseUnknownOptions } from './known-options.ts';
export { type Line, readLines } from './lines.ts';
export { isPidInUse, isProcessAlive, startOfProcess } from './live-process.ts';
export { type Constructor, INSTALL_SDK, type Loaded, load, loadNow, locate } from './locate.ts';
export { periodicReader } from './metric-reader.ts';
export {
  checkKinds,
  checkOptions,
  checkValue,
  either,
  exactly,
  having,
  kinds,
  type OptionKind,
  type OptionKinds,
  oneOf,
  required,
  secret,
} from './option-kinds.ts';
export { packageFile, readVersion } from './package-file.ts';
export { importPeer, loadPeer } from './peer.ts';
export { formatPlural, inflect } from './plural.ts';
export { connectionKey, PortConnections } from './port-connections.ts';
export { printable, printableLine } from './printable.ts';
export {
  makePrivateFolder,
  makePrivateFolderSync,
  replacePrivateFile,
  syncToDisk,
  writePrivateFile,
  writePrivateFileSync,
} from './private-files.ts';
export {
  findRunningPage,
  type RunningPage,
  readOwnText,
  runningPagePath,
  type StoreDoor,
  userStateFolder,
} from './running-page.ts';
export { isOwnScope, isPackageScope, MCP_SCOPE } from './scopes.ts';
export {
  ensureContextManager,
  FollowingTracer,
  loadSdk,
  loadSdkNow,
  locateRequired,
  type ManagedProvider,
  runningProvider,
} from './sdk.ts';
export { ownTurn, type Steps, sliced, takeAll, takeInSlices } from './slices.ts';
export { hasDiagLogger, useStderrDiag, warnAtOnce, warnVisibly } from './stderr-diag.ts';
export { countOutputsUsed, onStdinUse, onStdoutUse, withStdoutUnused } from './stdio-use.ts';
export { API_OF_SDK_2, importProblem, nodeProblem } from './supported-node.ts';
export { injectWithin, isTracingSuppressed, withoutTracing } from './suppress-tracing.ts';
export {
  FEE_UNITS,
  FEES,
  type FeeUnit,
  splitNames,
  USAGE_UNITS,
  type UsageDialect,
  type UsageUnit,
} from './usage-dialect.ts';
export {
  ANSWER_ATTRIBUTES,
  USAGE_ATTRIBUTES,
  USAGE_DIALECTS,
  USAGE_OBJECT_ATTRIBUTES,
} from './usage-names.ts';
export { withoutUserInfo } from './user-info.ts';
export { VERSION } from './version.ts';
export { isDoneWithin } from './within.ts';
export { fetchWithinOrigin } from './within-origin.ts';
export { semconv };
