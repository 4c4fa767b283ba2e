/**
 * One request or notification in flight, on either side: its span, from the start to the one end it has, and its
 * duration in the metrics.
 */
import {
  type Attributes,
  type Context,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { attributeOf, semconv } from '../../base/index.ts';
import { attachInteraction } from '../../interaction/index.ts';
import { boundedJson } from '../shared/index.ts';
import { addServerAddress, type Connection, HTTP_CLIENT_KEY } from './connection.ts';
import { ATTR_CLIENT_NAME, ATTR_SERVER_NAME } from './identity.ts';
import type { McpMessage, McpSettings, RequestId } from './internal-types.ts';
import { clipped, describeTarget, spanNameOf, type Target, TOOLS_CALL, targetOf } from './methods.ts';
import type { RequestOutcome } from './outcome.ts';
import type { SpanPlace } from './propagation.ts';
import type { McpSide } from './types.ts';
import type { UnderWay } from './under-way.ts';

/** Remote end of an HTTP request, under {@link HTTP_CLIENT_KEY} in the context. */
export interface HttpClient {
  readonly address?: string | undefined;
  readonly port?: number | undefined;
  readonly httpVersion?: string | undefined;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
}

export interface OperationStart {
  readonly side: McpSide;
  readonly connection: Connection;
  readonly message: McpMessage & { readonly method: string };
  /** Absent for notifications. */
  readonly id?: RequestId | undefined;
  readonly place: SpanPlace;
  readonly protocolVersion?: string | undefined;
  /** The task that the message is about. */
  readonly taskId?: string | undefined;
  /** An outer `execute_tool` span that stands for this call already: it is completed instead of doubled. */
  readonly outer?: Span | undefined;
}

const ATTR_TASK_ID = 'observatory.mcp.task.id';
const ATTR_TASK_STATUS = 'observatory.mcp.task.status';
const ATTR_RESULT_TYPE = 'observatory.mcp.result_type';
const ATTR_CACHE_SCOPE = 'observatory.mcp.cache_scope';
const ATTR_TTL_MS = 'observatory.mcp.ttl_ms';
const EVENT_TASK = 'observatory.task';
const ATTR_CONNECTION_ID = attributeOf('connection_id');

const NOBODY: Readonly<Record<string, string>> = Object.freeze({});

/** Tools, prompts and methods of one connection whose metric attributes are kept. */
const MAX_KNOWN_METRICS = 1000;

export class Operation {
  readonly span: Span;
  /** The context the operation runs in: its span active, with the baggage it came with. */
  readonly context: Context;
  readonly method: string;
  readonly connection: Connection;
  readonly progressToken: RequestId | undefined;
  readonly startedAt = performance.now();
  /** The message as it came, or as the caller wanted it sent. */
  readonly message: McpMessage;
  /** The request as handed to the SDK, on the side that sends it. */
  request: McpMessage | undefined;
  readonly #side: McpSide;
  readonly #target: Target;
  readonly #params: McpMessage['params'];
  readonly #ownsSpan: boolean;
  readonly #id: RequestId | undefined;
  readonly #taskId: string | undefined;
  #underWay: UnderWay | undefined;
  #protocolVersion: string | undefined;
  #parties: Readonly<Record<string, string>> = NOBODY;
  #ended = false;

  constructor(start: OperationStart) {
    const { side, connection, message, outer } = start;
    const { parent, links } = start.place;
    this.connection = connection;
    this.message = message;
    this.method = clipped(message.method);
    this.#side = side;
    this.#params = message.params;
    this.#id = start.id;
    this.#taskId = start.taskId;
    this.#protocolVersion = start.protocolVersion;
    this.progressToken = progressTokenOf(message);
    this.#target = targetOf(message.method, message.params, connection.telemetry.settings.captureContent);
    this.#ownsSpan = outer === undefined;
    if (outer === undefined) {
      const attributes = this.#identity();
      const kind = side === 'client' ? SpanKind.CLIENT : SpanKind.SERVER;
      const options = links === undefined ? { kind, attributes } : { kind, attributes, links };
      this.span = connection.telemetry.tracer.startSpan(
        spanNameOf(this.method, this.#target),
        options,
        parent,
      );
      this.context = trace.setSpan(parent, this.span);
    } else {
      this.span = outer;
      this.context = parent;
      outer.setAttributes(this.#identity());
    }
    this.#describeConnection(parent);
  }

  /** Keeps the operation findable by id until it ends. */
  track(underWay: UnderWay): this {
    if (this.#id !== undefined) {
      this.#underWay = underWay;
      underWay.add(this.#id, this);
    }
    return this;
  }

  /** What was agreed on in the handshake this operation is. */
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

  /** Its answer was a task: the operation goes on, though the request is not under way any more. */
  detach(): void {
    if (this.#id !== undefined) this.#underWay?.remove(this.#id, this);
    this.#underWay = undefined;
  }

  describeTask(taskId: string, status: string): void {
    this.span.setAttribute(ATTR_TASK_ID, clipped(taskId));
    this.span.setAttribute(ATTR_TASK_STATUS, status);
    this.span.addEvent(EVENT_TASK, { [ATTR_TASK_STATUS]: status });
  }

  /**
   * The first end counts; what comes later (an answer after a cancellation, a close) is passed over.
   * @param endedAt when the work ended, by `Date.now()`. @defaultValue now
   */
  end(outcome: RequestOutcome, endedAt?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    const now = Date.now();
    const elapsed = performance.now() - this.startedAt;
    // A peer's clock may be wrong: the work ended between the request and now.
    const late = endedAt === undefined ? 0 : Math.min(Math.max(now - endedAt, 0), elapsed);
    if (this.#id !== undefined) this.#underWay?.remove(this.#id, this);
    const { span, connection } = this;
    const { settings, metrics } = connection.telemetry;
    if (outcome.errorType !== undefined) {
      span.setAttribute(semconv.ATTR_ERROR_TYPE, outcome.errorType);
      if (outcome.statusCode !== undefined) {
        span.setAttribute(semconv.ATTR_RPC_RESPONSE_STATUS_CODE, outcome.statusCode);
      }
      const words = settings.captureContent
        ? outcome.message?.slice(0, settings.contentLimitChars)
        : undefined;
      const message = words ?? outcome.summary;
      span.setStatus(
        message === undefined ? { code: SpanStatusCode.ERROR } : { code: SpanStatusCode.ERROR, message },
      );
    }
    this.#describeParties();
    if (span.isRecording()) describeResult(span, outcome.result);
    if (this.#side === 'client') {
      // The session id comes with the answer to `initialize`.
      if (this.method === 'initialize') this.#setSessionId();
    }
    if (this.method === TOOLS_CALL) {
      const toolArguments = this.#params?.arguments;
      const toolResultSummary = outcome.errorType === undefined ? undefined : outcome.message;
      attachInteraction(span, { toolArguments, toolResultSummary });
      recordContent(span, toolArguments, outcome, settings);
    }
    if (this.#ownsSpan) span.end(late === 0 ? undefined : now - late);
    if (metrics.enabled) {
      const seconds = (elapsed - late) / 1000;
      metrics.recordOperation(this.#side, seconds, this.#metricAttributes(outcome));
    }
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

  #describeConnection(parent: Context): void {
    const { span, connection } = this;
    if (!span.isRecording()) return;
    if (this.#taskId !== undefined) span.setAttribute(ATTR_TASK_ID, clipped(this.#taskId));
    if (this.#id !== undefined) span.setAttribute(semconv.ATTR_JSONRPC_REQUEST_ID, clipped(String(this.#id)));
    const { network, peer } = connection.facts;
    for (const key in network) span.setAttribute(key, network[key] as string);
    if (this.#protocolVersion !== undefined) {
      span.setAttribute(semconv.ATTR_MCP_PROTOCOL_VERSION, this.#protocolVersion);
    }
    const { sessionId } = connection;
    if (sessionId !== undefined) span.setAttribute(semconv.ATTR_MCP_SESSION_ID, sessionId);
    span.setAttribute(ATTR_CONNECTION_ID, connection.id);
    this.#describeParties();
    if (this.#side === 'server') describeHttpClient(parent, span);
    else if (peer.address !== undefined) {
      span.setAttribute(semconv.ATTR_SERVER_ADDRESS, peer.address);
      if (peer.port !== undefined) span.setAttribute(semconv.ATTR_SERVER_PORT, peer.port);
    }
  }

  /** Names and versions of client and server, as far as they were not known when the operation began. */
  #describeParties(): void {
    const { attributes } = this.connection.identity;
    const known = this.#parties;
    if (attributes === known) return;
    if (known === NOBODY) this.span.setAttributes(attributes);
    else {
      for (const key in attributes) {
        if (known[key] === undefined) this.span.setAttribute(key, attributes[key] as string);
      }
    }
    this.#parties = attributes;
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

/** From 2026-07-28 on: a result that asks for more input, and who may keep it for how long. */
function describeResult(span: Span, result: unknown): void {
  if (typeof result !== 'object' || result === null) return;
  const { resultType, cacheScope, ttlMs } = result as Readonly<Record<string, unknown>>;
  if (typeof resultType === 'string' && resultType !== 'complete')
    span.setAttribute(ATTR_RESULT_TYPE, clipped(resultType));
  if (typeof cacheScope === 'string') span.setAttribute(ATTR_CACHE_SCOPE, clipped(cacheScope));
  if (typeof ttlMs === 'number' && Number.isFinite(ttlMs)) span.setAttribute(ATTR_TTL_MS, ttlMs);
}

/** Arguments and result of a tool call on its span, only where content may be captured. */
function recordContent(
  span: Span,
  toolArguments: unknown,
  outcome: RequestOutcome,
  settings: McpSettings,
): void {
  if (!settings.captureContent || !span.isRecording()) return;
  const limit = settings.contentLimitChars;
  if (toolArguments !== undefined) {
    span.setAttribute(semconv.ATTR_GEN_AI_TOOL_CALL_ARGUMENTS, boundedJson(toolArguments, limit));
  }
  if (outcome.result !== undefined) {
    span.setAttribute(semconv.ATTR_GEN_AI_TOOL_CALL_RESULT, boundedJson(outcome.result, limit));
  }
}

function describeHttpClient(parent: Context, span: Span): void {
  const client = parent.getValue(HTTP_CLIENT_KEY) as HttpClient | undefined;
  if (client === undefined) return;
  if (client.address !== undefined) span.setAttribute(semconv.ATTR_CLIENT_ADDRESS, client.address);
  if (client.port !== undefined) span.setAttribute(semconv.ATTR_CLIENT_PORT, client.port);
  if (client.httpVersion !== undefined) {
    span.setAttribute(semconv.ATTR_NETWORK_PROTOCOL_VERSION, client.httpVersion);
  }
}

function progressTokenOf(message: McpMessage): RequestId | undefined {
  const token = message.params?._meta?.progressToken;
  return typeof token === 'string' || typeof token === 'number' ? token : undefined;
}
