/**
 * The spans of one run of an agent framework: the run itself, its model calls, its tool calls. An SDK that is called
 * inside adds its data to the span of the framework's call, so that each call is one span.
 */
import {
  type Attributes,
  type Context,
  context,
  type Link,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { semconv } from '../../base/index.ts';
import {
  attachInteraction,
  type Message,
  normalizeProvider,
  OuterCall,
  present,
  withOuterCall,
} from '../../interaction/index.ts';
import {
  type CallHost,
  errorFacts,
  findAttributes,
  ModelCallSpan,
  type ModelResponse,
  openCalls,
  type ResponseReader,
} from '../shared/index.ts';

const ATTR_SERVER_NAME = 'observatory.mcp.server.name';

export interface RunDescription {
  readonly operation: 'invoke_agent' | 'invoke_workflow';
  /** Chosen by the application's author. */
  readonly name?: string | undefined;
  readonly provider?: string | undefined;
  readonly conversationId?: string | undefined;
}

export interface FrameworkModelStep {
  /** @defaultValue chat */
  readonly operation?: string | undefined;
  /** In any spelling. */
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly isStream?: boolean | undefined;
  /** When it began, on the clock of `performance.now()`, if it is reported only later. */
  readonly startMs?: number | undefined;
  readonly messages: () => readonly Message[];
  readonly tools?: unknown;
}

export interface FrameworkToolStep {
  readonly name: string;
  /** Id that the model gave the call. */
  readonly id?: string | undefined;
  readonly arguments?: unknown;
  /** Name of the MCP server that has the tool, where no MCP client is called inside. */
  readonly server?: string | undefined;
}

/** Most calls of one run whose choosers are remembered. */
const MAX_CHOSEN = 1000;

export class FrameworkRun {
  /** In which the parts of the run are made. */
  readonly context: Context;
  readonly #host: CallHost;
  readonly #span: Span;
  /** Model calls by the ids of the tool calls they asked for, and the latest by the tools' names. */
  readonly #chosen = new Map<string, SpanContext>();
  readonly #open: { readonly lastActivityMs: number; abandon(): void };
  #hasConversation: boolean;
  #isEnded = false;

  constructor(host: CallHost, what: RunDescription, parent: Context = context.active()) {
    this.#host = host;
    const { operation, name, provider, conversationId } = what;
    this.#hasConversation = conversationId !== undefined;
    const isAgent = operation === 'invoke_agent';
    const attributes = present({
      [semconv.ATTR_GEN_AI_OPERATION_NAME]: operation,
      [isAgent ? semconv.ATTR_GEN_AI_AGENT_NAME : semconv.ATTR_GEN_AI_WORKFLOW_NAME]: name,
      [semconv.ATTR_GEN_AI_PROVIDER_NAME]: provider === undefined ? undefined : normalizeProvider(provider),
      [semconv.ATTR_GEN_AI_CONVERSATION_ID]: conversationId,
    });
    const title = name === undefined ? operation : `${operation} ${name}`;
    this.#span = host.tracer.startSpan(title, { kind: SpanKind.INTERNAL, attributes }, parent);
    this.context = trace.setSpan(parent, this.#span);
    // Not idle as long as it is open: what it waits for may take hours.
    this.#open = { lastActivityMs: Number.POSITIVE_INFINITY, abandon: () => this.end() };
    openCalls.track(this.#open, host.streamIdleTimeoutMs);
  }

  /** Names the conversation, where it becomes known later than the run. */
  inConversation(id: string): void {
    if (this.#hasConversation) return;
    this.#hasConversation = true;
    this.#span.setAttribute(semconv.ATTR_GEN_AI_CONVERSATION_ID, id);
  }

  startModel(step: FrameworkModelStep, parent: Context = this.context): FrameworkModelCall {
    return new FrameworkModelCall(this.#host, step, parent, (key, by) => {
      if (this.#chosen.size < MAX_CHOSEN) this.#chosen.set(key, by);
    });
  }

  startTool(step: FrameworkToolStep, parent: Context = this.context): FrameworkToolCall {
    const by = this.#chosen.get(step.id === undefined ? `name:${step.name}` : `id:${step.id}`);
    return new FrameworkToolCall(this.#host, step, parent, by);
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    openCalls.close(this.#open);
    this.#span.end();
  }

  fail(error: unknown): void {
    if (!this.#isEnded) setFailed(this.#span, this.#host, error);
    this.end();
  }
}

export type FrameworkAnswer = Partial<Omit<ModelResponse, 'messages' | 'toolCallCount'>> & {
  /** Of the first choice. */
  readonly message?: Message | undefined;
};

const NO_ANSWER: ModelResponse = { finishReasons: [], messages: () => [], toolCallCount: 0 };

class GivenReader implements ResponseReader {
  #response = NO_ANSWER;

  whole(value: unknown): void {
    this.#response = value as ModelResponse;
  }

  chunk(): void {}

  readonly isComplete = true;

  keep(): void {}

  result(): ModelResponse {
    return this.#response;
  }
}

export class FrameworkModelCall {
  /** In which the call is made. */
  readonly context: Context;
  readonly #call: ModelCallSpan;
  readonly #outer: OuterCall | undefined;
  readonly #onChosen: (key: string, by: SpanContext) => void;
  readonly #operation: string;
  readonly #isNamed: boolean;

  constructor(
    host: CallHost,
    { operation, provider, model, isStream, startMs, messages, tools }: FrameworkModelStep,
    parent: Context,
    onChosen: (key: string, by: SpanContext) => void = () => {},
  ) {
    const attributes: Attributes = isStream === true ? { [semconv.ATTR_GEN_AI_REQUEST_STREAM]: true } : {};
    this.#onChosen = onChosen;
    this.#operation = operation ?? 'chat';
    this.#isNamed = model !== undefined;
    this.#call = new ModelCallSpan(host, {
      operation: this.#operation,
      provider: (provider === undefined ? undefined : normalizeProvider(provider)) ?? '_OTHER',
      model,
      server: undefined,
      stream: false,
      startMs,
      request: {},
      as: {
        attributes: () => ({ ...attributes }),
        messages,
        tools: () => tools,
        isTextAlone: () => false,
        continues: () => false,
        speaks: false,
        saysEnd: () => false,
        errorCode: () => undefined,
        canWait: false,
      },
      reader: new GivenReader(),
    });
    const active = this.#call.start(parent);
    const { span } = this.#call;
    this.#outer = span === undefined ? undefined : new OuterCall(span);
    this.context = this.#outer === undefined ? active : withOuterCall(active, this.#outer);
    openCalls.track(this.#call, host.streamIdleTimeoutMs);
  }

  answer({ message, finishReasons = [], ...rest }: FrameworkAnswer): void {
    const calls = message?.parts.filter((part) => part.type === 'tool_call') ?? [];
    for (const call of calls) this.chose(call);
    if (this.#outer?.isFilled === true) {
      this.#nameByModel();
      this.#call.endRecorded();
      return;
    }
    this.#outer?.close();
    const messages = message === undefined ? [] : [{ ...message, finishReason: finishReasons[0] }];
    this.#call.value({ ...rest, finishReasons, messages: () => messages, toolCallCount: calls.length }, {});
  }

  /** Notes a tool call that the model asked for, where it is made before the answer is whole. */
  chose({ id, name }: { readonly id?: string | undefined; readonly name?: string | undefined }): void {
    const by = this.#call.span?.spanContext();
    if (by === undefined) return;
    if (id !== undefined) this.#onChosen(`id:${id}`, by);
    if (name !== undefined) this.#onChosen(`name:${name}`, by);
  }

  fail(error: unknown): void {
    this.#outer?.close();
    this.#call.fail(error);
  }

  /** The framework may not have said which model is asked; the SDK called inside has. */
  #nameByModel(): void {
    const { span } = this.#call;
    const model = findAttributes(span)?.[semconv.ATTR_GEN_AI_REQUEST_MODEL];
    if (!this.#isNamed && typeof model === 'string') span?.updateName(`${this.#operation} ${model}`);
  }
}

export class FrameworkToolCall {
  /** In which the tool runs. */
  readonly context: Context;
  readonly #host: CallHost;
  readonly #span: Span;
  #isEnded = false;

  constructor(
    host: CallHost,
    { name, id, arguments: args, server }: FrameworkToolStep,
    parent: Context,
    chosenBy?: SpanContext,
  ) {
    this.#host = host;
    const links: Link[] = chosenBy === undefined ? [] : [{ context: chosenBy }];
    const attributes = present({
      [semconv.ATTR_GEN_AI_OPERATION_NAME]: semconv.GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL,
      [semconv.ATTR_GEN_AI_TOOL_NAME]: name,
      [semconv.ATTR_GEN_AI_TOOL_CALL_ID]: id,
      [semconv.ATTR_GEN_AI_TOOL_TYPE]: 'function',
      [ATTR_SERVER_NAME]: server,
    });
    const options = { kind: SpanKind.INTERNAL, attributes, links };
    this.#span = host.tracer.startSpan(`execute_tool ${name}`, options, parent);
    this.context = trace.setSpan(parent, this.#span);
    if (args !== undefined) attachInteraction(this.#span, { toolArguments: args });
  }

  end(result?: unknown): void {
    if (this.#isEnded) return;
    if (this.#host.captureContent && result !== undefined)
      attachInteraction(this.#span, { toolResult: result });
    this.#close();
  }

  fail(error: unknown): void {
    if (this.#isEnded) return;
    setFailed(this.#span, this.#host, error);
    this.#close();
  }

  /** Once: some frameworks tell of a failure where it happens and again where they catch it. */
  #close(): void {
    this.#isEnded = true;
    this.#span.end();
  }
}

function setFailed(span: Span, { captureContent }: CallHost, error: unknown): void {
  const { type } = errorFacts(error, undefined, captureContent);
  span.setAttribute(semconv.ATTR_ERROR_TYPE, type);
  const message = captureContent && error instanceof Error ? error.message : type;
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}
