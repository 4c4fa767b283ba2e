import { type Span, SpanKind, trace } from '@opentelemetry/api';
import { type CamelFieldValues, fromAttributes } from '../camel-case.ts';
import { ObservatoryError } from '../errors.ts';
import { attributeOf } from '../fields.ts';
import { readProviderResponse, responseAttributes } from '../interaction/index.ts';
import { ObservatorySpanProcessor, resolveCaptureContent } from '../processor/index.ts';
import {
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_PROVIDER_NAME,
  ATTR_GEN_AI_REQUEST_MODEL,
  ATTR_GEN_AI_TOOL_CALL_ID,
  ATTR_GEN_AI_TOOL_NAME,
} from '../semconv.ts';
import { VERSION } from '../version.ts';
import { type CallDescription, type CallSettings, traceCall } from './call-span.ts';
import { governanceOf } from './governance.ts';
import type { InstrumentOptions, Interceptor, ModelCall, RecordedModelCall, ToolCall } from './types.ts';

/**
 * Makes an interceptor that records model and tool calls as spans of whatever tracer provider is registered. The
 * fields are computed here, so they are on the span also where no `ObservatorySpanProcessor` is registered.
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
    // Asked for at each call: the application may register its provider after this.
    tracer: (tracerProvider ?? trace).getTracer('mcp-observatory', VERSION),
    serviceName,
    captureContent,
    enricher,
  });

  const recordModelCall = async <T>(call: ModelCall<T>): Promise<RecordedModelCall<T>> => {
    const { model, prompt, response } = call;
    if (call.call === undefined && response === undefined) {
      throw new ObservatoryError('INVALID_OPTION', "A model call needs either 'call' or 'response'");
    }
    const work = () => (call.call === undefined ? (response as T) : call.call({ prompt, model }));
    const { result, span } = await traceCall(settings(), describeModelCall(call), work);
    return { result, record: { ...span.spanContext(), fields: fieldsOf(span) } };
  };
  return {
    recordModelCall,
    interceptModelCall: async (call) => (await recordModelCall(call)).result,
    interceptToolCall: async (call) =>
      (await traceCall(settings(), describeToolCall(call), call.call)).result,
  };
}

function describeModelCall<T>(call: ModelCall<T>): CallDescription<T> {
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

function describeToolCall<T>(call: ToolCall<T>): CallDescription<T> {
  return {
    name: `execute_tool ${call.toolName}`,
    kind: SpanKind.INTERNAL,
    attributes: {
      [ATTR_GEN_AI_OPERATION_NAME]: 'execute_tool',
      [ATTR_GEN_AI_TOOL_NAME]: call.toolName,
      ...(call.callId === undefined ? {} : { [ATTR_GEN_AI_TOOL_CALL_ID]: call.callId }),
    },
    governance: governanceOf(call),
    interaction: { toolArguments: call.arguments },
    outcome: (result) => ({
      attributes: {},
      interaction: {},
      errorType: isToolError(result) ? 'tool_error' : undefined,
    }),
  };
}

/** Whether a result is an MCP `CallToolResult` that reports failure. */
function isToolError(result: unknown): boolean {
  return typeof result === 'object' && result !== null && 'isError' in result && result.isError === true;
}

function fieldsOf(span: Span): CamelFieldValues {
  return 'attributes' in span ? fromAttributes(span.attributes as Readonly<Record<string, unknown>>) : {};
}
