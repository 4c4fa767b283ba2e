export { type FieldValues, ObservatoryError, type ObservatoryErrorCode } from './base/index.ts';
export {
  type ClickHouseConnection,
  type ClickHouseConnectionOptions,
  type ClickHouseSettings,
  ClickHouseSpanExporter,
  type ClickHouseSpanExporterOptions,
} from './clickhouse/index.ts';
export {
  DurableSpanProcessor,
  type DurableSpanProcessorOptions,
  type DurableStats,
  type OtlpOptions,
  type SpoolOptions,
  type SyncPolicy,
} from './durable/index.ts';
export type { TraceStep } from './evidence/index.ts';
export {
  type FallbackCall,
  type GovernanceOptions,
  govern,
  type InstrumentOptions,
  type Interceptor,
  instrument,
  type JudgeCall,
  type ModelCall,
  type ModelCallRecord,
  type RecordedModelCall,
  type SpanReference,
  type ToolCall,
} from './execution/index.ts';
export {
  instrumentMcpClient,
  instrumentMcpServer,
  type McpInstrumentationConfig,
  type McpPeer,
  type McpPropagation,
  type McpSide,
} from './instrumentation/index.ts';
export {
  answerText,
  attachInteraction,
  type ConversationText,
  conversationText,
  type Interaction,
  type Message,
  type MessagePart,
  type MessageRole,
  parseMessages,
  parseRequest,
} from './interaction/index.ts';
export {
  type Database,
  type ExporterStats,
  type MigrationResult,
  migrate,
  type OpenDatabaseOptions,
  openDatabase,
  type PostgresConnection,
  PostgresSpanExporter,
  type PostgresSpanExporterOptions,
  type Queryable,
  type QueryResult,
  type RowLimits,
} from './postgres/index.ts';
export {
  type GovernanceFields,
  ObservatorySpanProcessor,
  type ObservatorySpanProcessorOptions,
  type ProcessorStats,
} from './processor/index.ts';
export { type Observatory, type StartOptions, startObservatory } from './setup/index.ts';
export type {
  CostSource,
  PriceOverride,
  PriceOverrides,
  RiskLevel,
  RiskLevels,
  RiskWeights,
  SignalOptions,
  TokenUsage,
  Verifier,
  VerifierInput,
  VerifierResult,
} from './signals/index.ts';
