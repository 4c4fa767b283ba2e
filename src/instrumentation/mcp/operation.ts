/**
 * One request or notification in flight, on either side: its span, from the start to the one end it has, and its
 * duration in the metrics.
 */
import {
  type Attributes,
  type Context,
  type Span,
  SpanKind,
  type SpanOptions,
  trace,
} from '@opentelemetry/api';
import { semconv } from '../../base/index.ts';
import { attachInteraction, leaveLateWork, takesLateWork } from '../../interaction/index.ts';
import { addServerAddress, type Connection } from './connection.ts';
import { ATTR_CLIENT_NAME, ATTR_SERVER_NAME } from './identity.ts';
import type { McpMessage, RequestId } from './internal-types.ts';
import { LeftCall } from './left-call.ts';
import {
  clipped,
  describeTarget,
  INITIALIZE,
  type Target,
  TOOLS_CALL,
  toSpanName,
  toTarget,
} from './methods.ts';
import {
  ATTR_TASK_ID,
  describeFailure,
  describeRequest,
  describeResult,
  describeStart,
  httpClientAttributes,
  type StartFacts,
  setAll,
  setMissing,
  toolCallContent,
} from './operation-span.ts';
import type { RequestOutcome } from './outcome.ts';
import type { SpanPlace } from './propagation.ts';
import type { McpSide } from './types.ts';
import type { OpenRequest, UnderWay } from './under-way.ts';

export interface OperationStart {
  readonly side: McpSide;
  readonly connection: Connection;
  readonly message: McpMessage & { readonly method: string };
  readonly id?: RequestId | undefined;
  readonly place: SpanPlace;
  /** When the message came, by `Date.now()`. @defaultValue now */
  readonly arrivedAt?: number | undefined;
  readonly protocolVersion?: string | undefined;
  readonly taskId?: string | undefined;
  /** An outer `execute_tool` span that represents this call already: it is completed instead of duplicated. */
  readonly outer?: Span | undefined;
}

const ATTR_TASK_STATUS = 'observatory.mcp.task.status';
const EVENT_TASK = 'observatory.task';

const NOTHING: Attributes = Object.freeze({});

/** Tools, prompts and methods of one connection whose metric attributes are kept. */
const MAX_KNOWN_METRICS = 1000;

export class Operation implements OpenRequest {
  readonly span: Span;
  readonly context: Context;
  readonly method: string;
  readonly connection: Connection;
  readonly progressToken: RequestId | undefined;
  readonly startedAt: number;
  readonly message: McpMessage;
  request: McpMessage | undefined;
  readonly #side: McpSide;
  readonly #target: Target;
  readonly #params: McpMessage['params'];
  readonly #ownsSpan: boolean;
  readonly #id: RequestId | undefined;
  readonly #taskId: string | undefined;
  /** What the messages of the connection had in common when it began. */
  readonly #common: Attributes;
  readonly #parties: Readonly<Record<string, string>>;
  /** The span is read some time after its end: what can wait is written then. */
  readonly #isLate: boolean;
  #underWay: UnderWay | undefined;
  #protocolVersion: string | undefined;
  #ended = false;

  constructor(start: OperationStart) {
    const { side, connection, message, outer } = start;
    const { parent, links } = start.place;
    const { arrivedAt } = start;
    this.startedAt = performance.now() - (arrivedAt === undefined ? 0 : Math.max(0, Date.now() - arrivedAt));
    this.connection = connection;
    this.message = message;
    this.method = clipped(message.method);
    this.#side = side;
    this.#params = message.params;
    this.#id = start.id;
    this.#taskId = start.taskId;
    this.#protocolVersion = start.protocolVersion;
    this.progressToken = findProgressToken(message);
    this.#target = toTarget(message.method, message.params, connection.telemetry.settings.captureContent);
    this.#ownsSpan = outer === undefined;
    if (outer === undefined) {
      const attributes = this.#identity();
      const kind = side === 'client' ? SpanKind.CLIENT : SpanKind.SERVER;
      const options: SpanOptions = links === undefined ? { kind, attributes } : { kind, attributes, links };
      if (arrivedAt !== undefined) options.startTime = arrivedAt;
      this.span = connection.telemetry.tracer.startSpan(
        toSpanName(this.method, this.#target),
        options,
        parent,
      );
      this.context = trace.setSpan(parent, this.span);
    } else {
      this.span = outer;
      this.context = parent;
      outer.setAttributes(this.#identity());
    }
    this.#parties = connection.identity.attributes;
    const isRecording = this.span.isRecording();
    this.#common = isRecording ? connection.commonAttributes(side, this.#protocolVersion) : NOTHING;
    this.#isLate = outer === undefined && takesLateWork(this.span);
    if (isRecording && !this.#isLate) describeStart(this.span, this.#startFacts(), setAll);
    // By it a server library's own span of the request is known while it is answered.
    else if (isRecording && side === 'server') describeRequest(this.span, this.#id);
  }

  /** Keeps the operation findable by id until it ends. */
  track(underWay: UnderWay): this {
    if (this.#id !== undefined) {
      this.#underWay = underWay;
      underWay.add(this.#id, this);
    }
    return this;
  }

  negotiated(protocolVersion: string): void {
    this.#protocolVersion = protocolVersion;
    this.span.setAttribute(semconv.ATTR_MCP_PROTOCOL_VERSION, protocolVersion);
  }

  progress(params: Readonly<Record<string, unknown>>): void {
    const attributes: Attributes = {};
    if (typeof params.progress === 'number') attributes['observatory.progress.value'] = params.progress;
    if (typeof params.total === 'number') attributes['observatory.progress.total'] = params.total;
    const { captureContent, contentLimitChars } = this.connection.telemetry.settings;
    if (captureContent && typeof params.message === 'string') {
      attributes['observatory.progress.message'] = params.message.slice(0, contentLimitChars);
    }
    this.span.addEvent('notifications/progress', attributes);
  }

  detach(): void {
    if (this.#id !== undefined) this.#underWay?.remove(this.#id, this);
    this.#underWay = undefined;
  }

  describeTask(taskId: string, status: string): void {
    this.span.setAttribute(ATTR_TASK_ID, clipped(taskId));
    this.span.setAttribute(ATTR_TASK_STATUS, status);
    this.span.addEvent(EVENT_TASK, { [ATTR_TASK_STATUS]: status });
  }

  end(outcome: RequestOutcome, endedAt?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    const { span, connection, method } = this;
    const { settings, metrics } = connection.telemetry;
    const isTimed = metrics.enabled || endedAt !== undefined;
    const elapsed = isTimed ? performance.now() - this.startedAt : 0;
    const now = endedAt === undefined ? 0 : Date.now();
    // A peer's clock may be wrong: the work ended between the request and now.
    const late = endedAt === undefined ? 0 : Math.min(Math.max(now - endedAt, 0), elapsed);
    if (this.#id !== undefined) this.#underWay?.remove(this.#id, this);
    if (span.isRecording()) {
      if (!this.#leave(outcome)) {
        if (this.#isLate) describeStart(span, this.#startFacts(), setMissing);
        describeFailure(span, outcome, this.#side, settings);
        this.#describeParties();
        this.#describeCall(outcome);
      }
      describeResult(span, outcome.result);
      // The session id comes with the answer to `initialize`.
      if (this.#side === 'client' && method === INITIALIZE) this.#setSessionId();
    }
    if (this.#ownsSpan) span.end(late === 0 ? undefined : now - late);
    if (metrics.enabled) {
      const seconds = (elapsed - late) / 1000;
      metrics.recordOperation(this.#side, seconds, this.#metricAttributes(outcome));
    }
  }

  /** Leaves the span of a message that went well to be written when it is read. @returns whether it could be left. */
  #leave(outcome: RequestOutcome): boolean {
    if (!this.#isLate || outcome.errorType !== undefined) return false;
    const left = this.connection.telemetry.guard.run('mcp.leave', () => {
      const call = new LeftCall(this.span, this.#startFacts(), this.connection);
      return this.method === TOOLS_CALL ? call.keep(this.#params?.arguments, outcome) : call;
    });
    if (left === undefined) return false;
    leaveLateWork(this.span, left);
    return true;
  }

  #setSessionId(): void {
    const { sessionId } = this.connection;
    if (sessionId !== undefined) this.span.setAttribute(semconv.ATTR_MCP_SESSION_ID, sessionId);
  }

  /**
   * What the message is and is about: on the span from its start, for samplers. The SDK copies start attributes three
   * times, so the others are set one by one.
   */
  #identity(): Record<string, string> {
    const attributes: Record<string, string> = { [semconv.ATTR_MCP_METHOD_NAME]: this.method };
    describeTarget(this.#target, attributes);
    if (this.method === TOOLS_CALL) {
      attributes[semconv.ATTR_GEN_AI_OPERATION_NAME] = semconv.GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL;
    }
    return attributes;
  }

  #startFacts(): StartFacts {
    return {
      taskId: this.#taskId,
      requestId: this.#id,
      common: this.#common,
      from: this.#side === 'server' ? httpClientAttributes(this.context) : undefined,
    };
  }

  /** Names and versions of client and server that were not known when the operation began. */
  #describeParties(): void {
    const { attributes } = this.connection.identity;
    const known = this.#parties;
    if (attributes === known) return;
    for (const key in attributes) {
      if (known[key] === undefined) this.span.setAttribute(key, attributes[key] as string);
    }
  }

  #describeCall(outcome: RequestOutcome): void {
    if (this.method !== TOOLS_CALL) return;
    const toolArguments = this.#params?.arguments;
    const toolResultSummary = outcome.errorType === undefined ? undefined : outcome.message;
    attachInteraction(this.span, { toolArguments, toolResultSummary });
    const { settings } = this.connection.telemetry;
    if (settings.captureContent) toolCallContent(toolArguments, outcome, settings).write(this.span);
  }

  /** Of calls that went well there are few kinds, and many of each: their attributes are made once. */
  #metricAttributes(outcome: RequestOutcome): Attributes {
    const { connection, method } = this;
    const { tool, prompt } = this.#target;
    if (outcome.errorType !== undefined) return this.#describeMetric(outcome);
    const known = connection.knownMetrics(this.#side, this.#protocolVersion);
    const key = tool ?? prompt ?? method;
    const found = known.get(key);
    if (found !== undefined && found[semconv.ATTR_MCP_METHOD_NAME] === method) return found;
    const attributes = Object.freeze(this.#describeMetric(outcome));
    if (known.size < MAX_KNOWN_METRICS) known.set(key, attributes);
    return attributes;
  }

  #describeMetric(outcome: RequestOutcome): Attributes {
    const attributes: Attributes = { [semconv.ATTR_MCP_METHOD_NAME]: this.method };
    const { tool, prompt } = this.#target;
    if (tool !== undefined) attributes[semconv.ATTR_GEN_AI_TOOL_NAME] = tool;
    if (prompt !== undefined) attributes[semconv.ATTR_GEN_AI_PROMPT_NAME] = prompt;
    if (this.method === TOOLS_CALL) {
      attributes[semconv.ATTR_GEN_AI_OPERATION_NAME] = semconv.GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL;
    }
    if (outcome.errorType !== undefined) attributes[semconv.ATTR_ERROR_TYPE] = outcome.errorType;
    if (outcome.statusCode !== undefined)
      attributes[semconv.ATTR_RPC_RESPONSE_STATUS_CODE] = outcome.statusCode;
    if (this.#protocolVersion !== undefined) {
      attributes[semconv.ATTR_MCP_PROTOCOL_VERSION] = this.#protocolVersion;
    }
    const { network } = this.connection.facts;
    for (const key in network) attributes[key] = network[key];
    const peer = this.#side === 'client' ? ATTR_SERVER_NAME : ATTR_CLIENT_NAME;
    const name = this.connection.identity.attributes[peer];
    if (name !== undefined) attributes[peer] = name;
    if (this.#side === 'client') addServerAddress(this.connection, attributes);
    return this.connection.telemetry.metrics.bound(attributes);
  }
}

function findProgressToken(message: McpMessage): RequestId | undefined {
  const token = message.params?._meta?.progressToken;
  return typeof token === 'string' || typeof token === 'number' ? token : undefined;
}
