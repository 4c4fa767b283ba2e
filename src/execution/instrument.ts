import { isSpanContextValid, type Span, SpanKind, trace } from '@opentelemetry/api';
import {
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_PROVIDER_NAME,
  ATTR_GEN_AI_REQUEST_MODEL,
  ATTR_GEN_AI_TOOL_CALL_ID,
  ATTR_GEN_AI_TOOL_NAME,
  attributeOf,
  ObservatoryError,
  VERSION,
} from '../base/index.ts';
import { readProviderResponse, responseAttributes } from '../interaction/index.ts';
import { ObservatorySpanProcessor, resolveCaptureContent } from '../processor/index.ts';
import { answerHash } from '../signals/index.ts';
import { type CallSettings, type SpanDescription, type TracedCall, traceCall } from './call-span.ts';
import { governanceOf } from './governance.ts';
import { isToolError } from './tool-error.ts';
import type {
  FallbackCall,
  InstrumentOptions,
  Interceptor,
  ModelCall,
  SpanReference,
  ToolCall,
} from './types.ts';

/**
 * Creates an interceptor that records model and tool calls as spans of the registered tracer provider. It computes the
 * fields itself, so no `ObservatorySpanProcessor` needs to be registered.
 *
 * @throws ObservatoryError `INVALID_OPTION` when the service name is empty or a signal option cannot be used.
 */
export function instrument(options: InstrumentOptions): Interceptor {
  const { serviceName, tracerProvider, ...processorOptions } = options;
  if (typeof serviceName !== 'string' || serviceName.trim() === '') {
    throw new ObservatoryError('INVALID_OPTION', `Expected 'serviceName' to be a name, got '${serviceName}'`);
  }
  const enricher = new ObservatorySpanProcessor(processorOptions);
  const captureContent = resolveCaptureContent(options.captureContent);
  const settings = (): CallSettings => ({
    // Looked up per call: the application may register its provider later.
    tracer: (tracerProvider ?? trace).getTracer('mcp-observatory', VERSION),
    serviceName,
    captureContent,
    enricher,
  });

  const traceModelCall = async <T>(call: ModelCall<T>, needsFields: boolean): Promise<TracedCall<T>> => {
    const { model, prompt, response } = call;
    if (call.call === undefined && response === undefined) {
      throw new ObservatoryError('INVALID_OPTION', "A model call needs either 'call' or 'response'");
    }
    const work = () => (call.call === undefined ? (response as T) : call.call({ prompt, model }));
    return traceCall(settings(), { ...describeModelCall(call), needsFields }, work);
  };
  return {
    serviceName,
    recordModelCall: async (call) => {
      const { result, span, fields } = await traceModelCall(call, true);
      return { result, record: { ...referenceTo(span), fields } };
    },
    interceptModelCall: async (call) => (await traceModelCall(call, false)).result,
    interceptToolCall: async (call) =>
      (await traceCall(settings(), describeToolCall(call), call.call)).result,
    recordFallback: async (call) => {
      const { result, span } = await traceCall(
        settings(),
        describeFallback(call, options.signals?.enablePromptHash !== false),
        call.call,
      );
      return { result, span: referenceTo(span) };
    },
  };
}

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
      [ATTR_GEN_AI_OPERATION_NAME]: operation,
      [ATTR_GEN_AI_REQUEST_MODEL]: model,
      ...(provider === undefined ? {} : { [ATTR_GEN_AI_PROVIDER_NAME]: provider }),
      ...(toolName === undefined ? {} : { [attributeOf('tool_name')]: toolName }),
    },
    governance: governanceOf(call),
    isModelCall: true,
    judge: call.judge,
    interaction: {
      prompt: call.prompt,
      model,
      provider,
      usage: call.usage,
      retrievedContext: call.retrievedContext,
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
          secondaryAnswer: second === undefined ? undefined : readProviderResponse(second).answer,
        },
      };
    },
  };
}

function describeToolCall<T>(call: ToolCall<T>): SpanDescription<T> {
  return {
    name: `execute_tool ${call.toolName}`,
    kind: SpanKind.INTERNAL,
    attributes: {
      [ATTR_GEN_AI_OPERATION_NAME]: 'execute_tool',
      [ATTR_GEN_AI_TOOL_NAME]: call.toolName,
      ...(call.callId === undefined ? {} : { [ATTR_GEN_AI_TOOL_CALL_ID]: call.callId }),
    },
    governance: governanceOf(call),
    judge: call.judge,
    interaction: { toolArguments: call.arguments },
    outcome: (result) => ({
      attributes: {},
      interaction: {},
      errorType: isToolError(result) ? 'tool_error' : undefined,
    }),
  };
}

function describeFallback<T>(call: FallbackCall<T>, isHashed: boolean): SpanDescription<T> {
  const { fallbackType, toolName, answerOf = (result: T): unknown => result } = call;
  return {
    name: `fallback ${fallbackType}`,
    kind: SpanKind.INTERNAL,
    attributes: {
      [ATTR_GEN_AI_OPERATION_NAME]: 'fallback',
      ...(toolName === undefined ? {} : { [attributeOf('tool_name')]: toolName }),
    },
    governance: governanceOf({ ...call, fallbackUsed: true }),
    interaction: { prompt: call.prompt },
    // The answer is hashed but not scored, because it is not the model's.
    outcome: (result) => {
      const { answer } = readProviderResponse(answerOf(result));
      const isKnown = isHashed && answer !== undefined;
      const attributes = isKnown ? { [attributeOf('answer_hash')]: answerHash(answer) } : {};
      return { attributes, interaction: {} };
    },
    parent: call.parent === undefined || !isSpanContextValid(call.parent) ? undefined : call.parent,
  };
}
