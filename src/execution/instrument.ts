import { isSpanContextValid, type Span, SpanKind } from '@opentelemetry/api';
import {
  checkKinds,
  having,
  invalidOption,
  kinds,
  ObservatoryError,
  refuseUnknownOptions,
  required,
  semconv,
  toAttribute,
} from '../base/index.ts';
import { warmEvidence } from '../evidence/index.ts';
import {
  readGivenUsage,
  readProviderResponse,
  responseAttributes,
  toolResultText,
} from '../interaction/index.ts';
import type { ReasonCode } from '../policy/index.ts';
import { Enricher, isName, PROCESSOR_OPTIONS, resolveCaptureContent } from '../processor/index.ts';
import { answerHash } from '../signals/index.ts';
import { type CallSettings, type SpanDescription, type TracedCall, traceCall } from './call-span.ts';
import { GOVERNANCE_OPTIONS, toGovernance } from './governance.ts';
import { openSpans } from './span-destination.ts';
import { isToolError } from './tool-error.ts';
import type {
  FallbackCall,
  GovernanceOptions,
  InstrumentOptions,
  Interceptor,
  ModelCall,
  SpanReference,
  ToolCall,
} from './types.ts';

/**
 * Creates an interceptor that records model and tool calls as spans: of the registered tracer provider, or of one of its
 * own with the option `exporter`. It computes the fields itself, so no `ObservatorySpanProcessor` needs to be registered.
 *
 * @throws ObservatoryError `INVALID_OPTION` when the service name is empty, an option is unknown or cannot be used;
 * `MISSING_PEER` when there is an `exporter` and no OpenTelemetry SDK is installed.
 */
export function instrument(options: InstrumentOptions): Interceptor {
  checkKinds(options, KINDS, 'instrument()');
  refuseUnknownOptions(options, OPTIONS, 'instrument()');
  const { serviceName, tracerProvider, exporter, requirePromptTemplate: required, ...rest } = options;
  if (typeof serviceName !== 'string' || serviceName.trim() === '') {
    throw new ObservatoryError('INVALID_OPTION', `Expected 'serviceName' to be a name, got '${serviceName}'`);
  }
  if (required !== undefined && required !== 'warn' && required !== 'block')
    throw invalidOption('`requirePromptTemplate`', "'warn' or 'block'", required);
  const isBlocking = required === 'block';
  const processorOptions = { ...rest, requirePromptTemplate: isBlocking ? undefined : required };
  const enricher = new Enricher(processorOptions);
  const captureContent = resolveCaptureContent(options.captureContent);
  const scoresEvidence = options.signals?.enableEvidence !== false;
  const spans = openSpans(serviceName, tracerProvider, exporter);
  const settings: CallSettings = {
    tracer: () => spans.tracer(),
    serviceName,
    captureContent,
    enricher,
  };

  const traceModelCall = async <T>(call: ModelCall<T>, needsFields: boolean): Promise<TracedCall<T>> => {
    refuseUnknownOptions(call, MODEL_CALL, 'a model call');
    const { response } = call;
    if (call.call === undefined && response === undefined) {
      throw new ObservatoryError('INVALID_OPTION', "A model call needs either 'call' or 'response'");
    }
    const work = () =>
      call.call === undefined ? (response as T) : call.call({ prompt: call.prompt, model: call.model });
    const describe = () => ({ ...describeModelCall(call), needsFields });
    if (scoresEvidence) void warmEvidence();
    if (isBlocking && !isName(toGovernance(call).promptTemplateId)) {
      return traceCall(settings, 'chat', () => blockedCall(describe()), refuseWithoutTemplate);
    }
    return traceCall(settings, 'chat', describe, work);
  };
  return {
    serviceName,
    recordModelCall: async (call) => {
      const { result, span, fields } = await traceModelCall(call, true);
      return { result, record: { ...referenceTo(span), fields } };
    },
    interceptModelCall: async (call) => (await traceModelCall(call, false)).result,
    interceptToolCall: async (call) => {
      refuseUnknownOptions(call, TOOL_CALL, 'a tool call');
      return (await traceCall(settings, 'execute_tool', () => describeToolCall(call), call.call)).result;
    },
    recordFallback: async (call) => {
      refuseUnknownOptions(call, FALLBACK_CALL, 'a fallback');
      const { result, span } = await traceCall(
        settings,
        'fallback',
        () => describeFallback(call, options.signals?.enablePromptHash !== false),
        call.call,
      );
      return { result, span: referenceTo(span) };
    },
    forceFlush: () => spans.forceFlush(),
    shutdown: () => spans.shutdown(),
    [Symbol.asyncDispose]: () => spans.shutdown(),
  };
}

const KINDS = {
  serviceName: required(kinds.string),
  tracerProvider: having('a TracerProvider', 'getTracer'),
  exporter: having('a SpanExporter', 'export', 'shutdown'),
};
const OPTIONS: readonly string[] = [...Object.keys(KINDS), ...PROCESSOR_OPTIONS];

const readNames = (own: Readonly<Record<string, true>>) => [...Object.keys(own), ...GOVERNANCE_OPTIONS];

const MODEL_CALL = readNames({
  model: true,
  prompt: true,
  call: true,
  response: true,
  toolName: true,
  secondaryResponse: true,
  retrievedContext: true,
  steps: true,
  toolResultSummary: true,
  provider: true,
  operation: true,
  usage: true,
  judge: true,
} satisfies Record<Exclude<keyof ModelCall<unknown>, keyof GovernanceOptions>, true>);

const TOOL_CALL = readNames({
  toolName: true,
  call: true,
  arguments: true,
  callId: true,
  judge: true,
} satisfies Record<Exclude<keyof ToolCall<unknown>, keyof GovernanceOptions>, true>);

const FALLBACK_CALL = readNames({
  call: true,
  answerOf: true,
  prompt: true,
  toolName: true,
  parent: true,
} satisfies Record<Exclude<keyof FallbackCall<unknown>, keyof GovernanceOptions>, true>);

function referenceTo(span: Span): SpanReference {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return { traceId, spanId, traceFlags };
}

function describeModelCall<T>(call: ModelCall<T>): SpanDescription<T> {
  const { model, provider, toolName, operation = 'chat' } = call;
  return {
    name: `${operation} ${model}`,
    kind: SpanKind.CLIENT,
    attributes: {
      [semconv.ATTR_GEN_AI_OPERATION_NAME]: operation,
      [semconv.ATTR_GEN_AI_REQUEST_MODEL]: model,
      ...(provider === undefined ? {} : { [semconv.ATTR_GEN_AI_PROVIDER_NAME]: provider }),
      ...(toolName === undefined ? {} : { [toAttribute('tool_name')]: toolName }),
    },
    governance: toGovernance(call),
    isModelCall: true,
    judge: call.judge,
    interaction: {
      prompt: call.prompt,
      model,
      provider,
      ...readGivenUsage(call.usage, { provider, model }),
      retrievedContext: call.retrievedContext,
      steps: call.steps,
      toolResultSummary: call.toolResultSummary,
    },
    outcome: (result) => {
      const response = readProviderResponse(result);
      const second = call.secondaryResponse;
      return {
        attributes: responseAttributes(response),
        interaction: {
          answer: response.answer,
          model: response.model,
          provider: provider ?? response.provider,
          usage: response.usage,
          providerCostUsd: response.costUsd,
          serviceTier: response.serviceTier,
          secondaryAnswer: second === undefined ? undefined : readProviderResponse(second).answer,
        },
      };
    },
  };
}

/** A model call that is not made because it names no prompt template. */
function blockedCall<T>(description: SpanDescription<T>): SpanDescription<T> {
  const decision = {
    [toAttribute('policy_decision')]: 'deny',
    [toAttribute('policy_reason')]: 'prompt_template_missing' satisfies ReasonCode,
  };
  return {
    ...description,
    attributes: { ...description.attributes, ...decision },
    governance: { ...description.governance, gateBlocked: true },
  };
}

function refuseWithoutTemplate(): never {
  throw new ObservatoryError(
    'PROMPT_TEMPLATE_MISSING',
    "The call names no prompt template, which 'requirePromptTemplate' asks for: give it a promptTemplateId, or make it inside govern({ promptTemplateId })",
  );
}

function describeToolCall<T>(call: ToolCall<T>): SpanDescription<T> {
  return {
    name: `execute_tool ${call.toolName}`,
    kind: SpanKind.INTERNAL,
    attributes: {
      [semconv.ATTR_GEN_AI_OPERATION_NAME]: semconv.GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL,
      [semconv.ATTR_GEN_AI_TOOL_NAME]: call.toolName,
      ...(call.callId === undefined ? {} : { [semconv.ATTR_GEN_AI_TOOL_CALL_ID]: call.callId }),
    },
    governance: toGovernance(call),
    judge: call.judge,
    interaction: { toolArguments: call.arguments },
    outcome: (result) => ({
      attributes: {},
      interaction: {},
      ...(isToolError(result) && {
        errorType: 'tool_error',
        errorText: toolResultText(result).slice(0, MAX_ERROR_CHARS) || undefined,
      }),
    }),
  };
}

/** Longest text of a tool's error that is the message of its span. */
const MAX_ERROR_CHARS = 4096;

function describeFallback<T>(call: FallbackCall<T>, isHashed: boolean): SpanDescription<T> {
  const { fallbackType, toolName, answerOf = (result: T): unknown => result } = call;
  return {
    name: `fallback ${fallbackType}`,
    kind: SpanKind.INTERNAL,
    attributes: {
      [semconv.ATTR_GEN_AI_OPERATION_NAME]: 'fallback',
      ...(toolName === undefined ? {} : { [toAttribute('tool_name')]: toolName }),
    },
    governance: toGovernance({ ...call, fallbackUsed: true }),
    interaction: { prompt: call.prompt },
    // The answer is hashed but not scored, because it is not the model's.
    outcome: (result) => {
      const { answer } = readProviderResponse(answerOf(result));
      const isKnown = isHashed && answer !== undefined;
      const attributes = isKnown ? { [toAttribute('answer_hash')]: answerHash(answer) } : {};
      return { attributes, interaction: {} };
    },
    parent: call.parent === undefined || !isSpanContextValid(call.parent) ? undefined : call.parent,
  };
}
