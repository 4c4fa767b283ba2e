import type { TracerProvider } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { CamelFieldValues } from '../base/index.ts';
import type { TraceStep } from '../evidence/index.ts';
import type { ObservatorySpanProcessorOptions } from '../processor/index.ts';
import type { TokenUsage } from '../signals/index.ts';

/** Options of `instrument`; those on signals, prices and content are the span processor's. */
export interface InstrumentOptions extends Omit<ObservatorySpanProcessorOptions, 'requirePromptTemplate'> {
  /** Service of the calls; stored in the column `service`, overriding the SDK's resource. */
  readonly serviceName: string;
  /** Where spans go. @defaultValue the globally registered tracer provider */
  readonly tracerProvider?: TracerProvider | undefined;
  /**
   * Exports the spans of this interceptor, for instance a `PostgresSpanExporter`, through a tracer provider of its own,
   * so that the program needs none. A span is exported when its call ends. Not together with `tracerProvider`.
   */
  readonly exporter?: SpanExporter | undefined;
  /**
   * What happens to a model call that names no `promptTemplateId`, nor is inside `govern({ promptTemplateId })`. `warn`:
   * the first one is logged. `block`: none is made, and the caller gets an error. @defaultValue nothing
   */
  readonly requirePromptTemplate?: 'warn' | 'block' | undefined;
}

/** Governance fields of a call, as in the field dictionary. */
export interface GovernanceOptions {
  /** Manual risk classification, e.g. `high`. */
  readonly riskTier?: string | undefined;
  /** Template and version the prompt was made from, e.g. `payment-risk-v3`. */
  readonly promptTemplateId?: string | undefined;
  /** Confidence of the application or model in the answer, 0..1. */
  readonly confidence?: number | undefined;
  /** A confidence below it sets `gate_blocked`, unless `gateBlocked` is given. */
  readonly confidenceGateThreshold?: number | undefined;
  readonly gateBlocked?: boolean | undefined;
  readonly fallbackUsed?: boolean | undefined;
  /** `template`, `human_review` or `draft_only`. */
  readonly fallbackType?: string | undefined;
  /** `low_confidence`, `tool_error`, `policy_violation` or a reason of your own. */
  readonly fallbackReason?: string | undefined;
  /** Attempts made after the first one. @defaultValue 0 */
  readonly retries?: number | undefined;
  readonly isShadow?: boolean | undefined;
  /** Trace id of the primary run, as 32 hex digits or a UUID; only kept when `isShadow`. */
  readonly shadowParentTraceId?: string | undefined;
}

/**
 * Decides governance fields from a call's computed fields, just before its span ends, after success or failure. Errors
 * it throws are logged through `diag` only.
 */
export type JudgeCall = (fields: CamelFieldValues) => GovernanceOptions;

/** One model call. Give either `call`, which is run inside the span, or the `response` of one already made. */
export interface ModelCall<T> extends GovernanceOptions {
  readonly model: string;
  /** The exact final prompt. */
  readonly prompt: string;
  /** Runs the model. Receives prompt and model, so that one function can be shared. */
  readonly call?:
    | ((request: { readonly prompt: string; readonly model: string }) => T | Promise<T>)
    | undefined;
  /** The response: a text, an object with `text`, `content`, `output` or `message`, or a provider's response. */
  readonly response?: T | undefined;
  /** Tool or function that makes the call. */
  readonly toolName?: string | undefined;
  /** A second answer to the same prompt, for self-consistency. */
  readonly secondaryResponse?: unknown;
  /** Evidence the model was given, for grounding. */
  readonly retrievedContext?: string | undefined;
  /** All tool calls of the run before this answer, in order; empty if none was made although tools were at hand. */
  readonly steps?: readonly TraceStep[] | undefined;
  /** A tool's report of its outcome, for tool-claim mismatch. */
  readonly toolResultSummary?: string | undefined;
  /** Provider in the words of the semantic conventions; guessed from the response when absent. */
  readonly provider?: string | undefined;
  /** `gen_ai.operation.name`. @defaultValue `chat` */
  readonly operation?: string | undefined;
  /** Token usage, when the response does not carry it: as `TokenUsage`, or as any provider's answer has it. */
  readonly usage?: TokenUsage | Readonly<Record<string, unknown>> | undefined;
  readonly judge?: JudgeCall | undefined;
}

/** One tool call, run inside its span. */
export interface ToolCall<T> extends GovernanceOptions {
  readonly toolName: string;
  readonly call: () => T | Promise<T>;
  /** Arguments as a JSON value; only their hash is kept unless content is captured. */
  readonly arguments?: unknown;
  /** Id the model gave the call. */
  readonly callId?: string | undefined;
  readonly judge?: JudgeCall | undefined;
}

/** One run of a fallback, replacing an answer or call. */
export interface FallbackCall<T> extends GovernanceOptions {
  /** `template`, `human_review`, `draft_only` or a type of your own. */
  readonly fallbackType: string;
  /** `low_confidence`, `high_hallucination`, `high_evidence_risk`, `tool_error`, `policy_violation` or a reason of your own. */
  readonly fallbackReason: string;
  readonly call: () => T | Promise<T>;
  /** The part of the result that answers the user, for its hash. @defaultValue the result */
  readonly answerOf?: ((result: T) => unknown) | undefined;
  /** The prompt that goes unanswered; only its hashes are kept unless content is captured. */
  readonly prompt?: string | undefined;
  /** Tool or function that it replaces. */
  readonly toolName?: string | undefined;
  /** Span of the replaced call, used as parent. @defaultValue the active span */
  readonly parent?: SpanReference | undefined;
}

export interface SpanReference {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** W3C trace flags; 1 when the span is sampled. */
  readonly traceFlags: number;
}

export interface ModelCallRecord extends SpanReference {
  /** The computed fields, also if the span is not sampled or has no room for them. */
  readonly fields: CamelFieldValues;
}

/** A result with its record. */
export interface RecordedModelCall<T> {
  readonly result: T;
  readonly record: ModelCallRecord;
}

/** Records model and tool calls as spans of a tracer provider: the registered one, or its own. */
export interface Interceptor extends AsyncDisposable {
  /** Service the calls are recorded for. */
  readonly serviceName: string;
  /**
   * Records one model call.
   * @returns the result of `call`, or `response`, unchanged.
   * @throws whatever `call` throws, after the span is marked; ObservatoryError `INVALID_OPTION` when neither `call`
   *   nor `response` is given, and for an option that there is not, which nothing would read; `PROMPT_TEMPLATE_MISSING` when the call was blocked for that.
   */
  interceptModelCall<T>(call: ModelCall<T>): Promise<T>;
  /** Like `interceptModelCall`, and also returns the record. */
  recordModelCall<T>(call: ModelCall<T>): Promise<RecordedModelCall<T>>;
  /**
   * Records one tool call as an `execute_tool` span. An MCP result with `isError` marks the span as failed.
   * @returns the result of `call`, unchanged.
   * @throws whatever `call` throws, after the span is marked.
   */
  interceptToolCall<T>(call: ToolCall<T>): Promise<T>;
  /**
   * Records one run of a fallback as a span `fallback <type>` with its type and reason, and counts it in the metric
   * `observatory.fallbacks`. It carries no tokens and no cost.
   * @returns the result of `call`, unchanged, with the span it was recorded on.
   * @throws whatever `call` throws, after the span is marked.
   */
  recordFallback<T>(call: FallbackCall<T>): Promise<{ readonly result: T; readonly span: SpanReference }>;
  /**
   * Waits until the spans of all calls that have ended are exported.
   * @throws ObservatoryError `SPANS_NOT_SAFE` when spans of an own `exporter` were lost.
   */
  forceFlush(): Promise<void>;
  /**
   * With the option `exporter`: exports what waits and closes the exporter. Otherwise it does nothing, since the tracer
   * provider belongs to the program. Idempotent.
   * @throws ObservatoryError `SPANS_NOT_SAFE` when spans were lost.
   */
  shutdown(): Promise<void>;
}
