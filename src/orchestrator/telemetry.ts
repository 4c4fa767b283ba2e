import {
  type Attributes,
  type Context,
  context,
  metrics,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { errorClass, injectWithin, semconv, VERSION, withoutTracing } from '../base/index.ts';
import {
  announceTools,
  attachInteraction,
  createModelMetrics,
  recordModelCall,
} from '../interaction/index.ts';
import type { ToolCallOutcome } from '../mcp-client/index.ts';
import { ATTR_RETRIES, attachCompletion, completionAttributes, type ToldCall } from './model-span.ts';
import {
  type Completion,
  type ModelMessage,
  type ModelTool,
  type Provider,
  ProviderError,
} from './providers/index.ts';
import { callToolResult } from './tool-text.ts';

/** Name of the server in the config, which tells apart two servers with a tool of the same name. */
const ATTR_SERVER = 'observatory.mcp_server';

/** The spans of a run. Texts go to the processor beside the spans, never onto them. */
export class RunTelemetry {
  readonly #tracer: Tracer = trace.getTracer('mcp-observatory', VERSION);
  readonly #metrics = createModelMetrics(metrics.getMeter('mcp-observatory', VERSION));
  readonly #provider: Provider;
  readonly #model: string;

  constructor(provider: Provider, model: string) {
    this.#provider = provider;
    this.#model = model;
  }

  /** Runs a whole run in its `invoke_agent` span. */
  async agent<T>(name: string, parent: Context, run: (span: Span) => Promise<T>): Promise<T> {
    const attributes: Attributes = {
      ...this.#modelAttributes('invoke_agent'),
      [semconv.ATTR_GEN_AI_AGENT_NAME]: name,
    };
    const span = this.#tracer.startSpan(`invoke_agent ${name}`, { attributes }, parent);
    return await inSpan(span, parent, () => run(span));
  }

  /** Runs a step that has no attributes of its own: `plan`, `compaction`, `backtrack`. */
  async step<T>(name: string, attributes: Attributes, run: (span: Span) => Promise<T>): Promise<T> {
    const span = this.#tracer.startSpan(name, { attributes });
    return await inSpan(span, context.active(), () => run(span));
  }

  /**
   * Runs a model call in its `chat` span.
   * @param history all turns so far, where older ones were summarized: the answer is held against their tool calls too.
   */
  async chat(
    messages: readonly ModelMessage[],
    tools: readonly ModelTool[],
    stream: boolean,
    call: () => Promise<Completion>,
    history?: readonly ModelMessage[],
  ): Promise<Completion> {
    const attributes = {
      ...this.#modelAttributes('chat'),
      ...(stream ? { [semconv.ATTR_GEN_AI_REQUEST_STREAM]: true } : {}),
      ...(this.#provider.serverAddress === undefined
        ? {}
        : { [semconv.ATTR_SERVER_ADDRESS]: this.#provider.serverAddress }),
    };
    const span = this.#tracer.startSpan(`chat ${this.#model}`, { kind: SpanKind.CLIENT, attributes });
    // A longer conversation by then is another request: this one's messages are held as they are now.
    const request = span.isRecording() ? [...messages] : [];
    const past = span.isRecording() ? history?.slice() : undefined;
    if (tools.length > 0) announceTools(span, tools, this.#model);
    const startedAt = performance.now();
    const active = trace.setSpan(context.active(), span);
    try {
      // The span is made here, where retries and streaming are known: one of the SDK would count the same tokens again.
      const completion = await withoutTracing(call, active);
      if (span.isRecording()) span.setAttributes(completionAttributes(completion));
      this.#tell(span, { request, tools, completion, history: past });
      this.#record(startedAt, {}, completion);
      return completion;
    } catch (error) {
      const errorType = markFailed(span, error);
      this.#tell(span, { request, tools });
      if (error instanceof ProviderError) span.setAttribute(ATTR_RETRIES, error.failedAttempts.length);
      this.#record(startedAt, { [semconv.ATTR_ERROR_TYPE]: errorType });
      throw error;
    } finally {
      span.end();
    }
  }

  #record(startedAt: number, outcome: Attributes, completion?: Completion): void {
    if (!this.#metrics.enabled) return;
    const about = { ...this.#modelAttributes('chat'), ...outcome };
    const { timeToFirstChunkMs, usage } = completion ?? {};
    if (timeToFirstChunkMs !== undefined)
      this.#metrics.timeToFirstChunk.record(timeToFirstChunkMs / 1000, about);
    recordModelCall(this.#metrics, about, usage, (performance.now() - startedAt) / 1000);
  }

  #tell(span: Span, call: ToldCall): void {
    attachCompletion(span, { provider: this.#provider.name, model: this.#model }, call);
  }

  /**
   * Runs one try of a tool call in its `tools/call` span, with the trace context to send along.
   * @param mayTell false where what the tool said may yet be withheld: it then does not reach the processor either.
   */
  async tool(
    facts: {
      readonly server: string;
      readonly tool: string;
      readonly callId: string;
      readonly retry: number;
      readonly args: unknown;
    },
    call: (meta: Record<string, string>) => Promise<ToolCallOutcome>,
    mayTell: boolean,
    failureText: (outcome: ToolCallOutcome) => Promise<string>,
  ): Promise<ToolCallOutcome> {
    const attributes: Attributes = {
      [semconv.ATTR_GEN_AI_OPERATION_NAME]: semconv.GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL,
      [semconv.ATTR_GEN_AI_TOOL_NAME]: facts.tool,
      [semconv.ATTR_GEN_AI_TOOL_CALL_ID]: facts.callId,
      [semconv.ATTR_GEN_AI_TOOL_TYPE]: 'function',
      [ATTR_SERVER]: facts.server,
      ...(facts.retry === 0 ? {} : { [ATTR_RETRIES]: facts.retry }),
    };
    const span = this.#tracer.startSpan(`tools/call ${facts.tool}`, { kind: SpanKind.CLIENT, attributes });
    attachInteraction(span, { toolArguments: facts.args });
    return await inSpan(span, context.active(), async () => {
      const meta: Record<string, string> = {};
      // Baggage may hold what is none of a server's business.
      injectWithin(propagation.deleteBaggage(context.active()), meta);
      delete meta.baggage;
      const outcome = await call(meta);
      // Set only now: an MCP instrumentation completes a tool span that does not name the method, and makes one of
      // its own below a span that does.
      span.setAttribute(semconv.ATTR_MCP_METHOD_NAME, 'tools/call');
      if (mayTell) attachInteraction(span, { toolResult: callToolResult(outcome) });
      if (outcome.kind !== 'ok') {
        if (mayTell) attachInteraction(span, { toolResultSummary: await failureText(outcome) });
        span.setAttribute(semconv.ATTR_ERROR_TYPE, outcomeErrorType(outcome));
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      return outcome;
    });
  }

  /** Notes a call of the model that nothing was made of: no server has seen it. */
  noteUnmade(
    facts: { server?: string | undefined; tool: string; callId: string; args: unknown },
    why: string,
  ): void {
    const attributes: Attributes = {
      [semconv.ATTR_GEN_AI_OPERATION_NAME]: semconv.GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL,
      [semconv.ATTR_GEN_AI_TOOL_NAME]: facts.tool,
      [semconv.ATTR_GEN_AI_TOOL_CALL_ID]: facts.callId,
      ...(facts.server === undefined ? {} : { [ATTR_SERVER]: facts.server }),
      [semconv.ATTR_ERROR_TYPE]: why,
    };
    const span = this.#tracer.startSpan(`execute_tool ${facts.tool}`, { attributes });
    attachInteraction(span, { toolArguments: facts.args });
    span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  #modelAttributes(operation: string): Attributes {
    return {
      [semconv.ATTR_GEN_AI_OPERATION_NAME]: operation,
      [semconv.ATTR_GEN_AI_PROVIDER_NAME]: this.#provider.name,
      [semconv.ATTR_GEN_AI_REQUEST_MODEL]: this.#model,
    };
  }
}

function outcomeErrorType(outcome: Exclude<ToolCallOutcome, { kind: 'ok' }>): string {
  return outcome.kind === 'protocol_error' ? String(outcome.errorCode) : outcome.kind;
}

/** Runs with the span active in `parent`, and ends it. */
async function inSpan<T>(span: Span, parent: Context, run: () => Promise<T>): Promise<T> {
  try {
    return await context.with(trace.setSpan(parent, span), run);
  } catch (error) {
    markFailed(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** The message of an error may hold content, so the span gets its type alone, and the provider's word for it. @returns the type. */
function markFailed(span: Span, error: unknown): string {
  const isOfProvider = error instanceof ProviderError;
  const type = isOfProvider ? String(error.status ?? error.kind) : errorClass(error);
  const word = isOfProvider && WORD.test(error.type ?? '') ? error.type : undefined;
  span.setAttribute(semconv.ATTR_ERROR_TYPE, type);
  span.setStatus({ code: SpanStatusCode.ERROR, ...(word !== undefined && { message: word }) });
  return type;
}
/** `overloaded_error`, and no text. */
const WORD = /^[\w.-]{1,60}$/;
