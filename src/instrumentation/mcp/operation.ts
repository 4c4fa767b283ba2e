/**
 * One request or notification in flight, on either side: its span, from the start to the one end it has, and its
 * duration in the metrics.
 */
import {
  type Attributes,
  type Context,
  type Link,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { semconv } from '../../base/index.ts';
import { attachInteraction } from '../../interaction/index.ts';
import { addServerAddress, type Connection, HTTP_CLIENT_KEY } from './connection.ts';
import { recordContent } from './content.ts';
import type { McpMessage, RequestId } from './internal-types.ts';
import { clipped, describeTarget, spanNameOf, type Target, TOOLS_CALL, targetOf } from './methods.ts';
import type { RequestOutcome } from './outcome.ts';
import type { McpSide } from './types.ts';
import type { UnderWay } from './under-way.ts';

/** Remote end of an HTTP request, under {@link HTTP_CLIENT_KEY} in the context. */
export interface HttpClient {
  readonly address?: string | undefined;
  readonly port?: number | undefined;
  readonly httpVersion?: string | undefined;
}

export interface OperationStart {
  readonly side: McpSide;
  readonly connection: Connection;
  readonly message: McpMessage & { readonly method: string };
  /** Absent for notifications. */
  readonly id?: RequestId | undefined;
  readonly parent: Context;
  readonly links?: Link[] | undefined;
  readonly protocolVersion?: string | undefined;
  /** An outer `execute_tool` span that stands for this call already: it is completed instead of doubled. */
  readonly outer?: Span | undefined;
}

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
  /** The request as handed to the SDK, on the side that sends it. */
  request: McpMessage | undefined;
  readonly #side: McpSide;
  readonly #target: Target;
  readonly #params: McpMessage['params'];
  readonly #ownsSpan: boolean;
  readonly #id: RequestId | undefined;
  #underWay: UnderWay | undefined;
  #protocolVersion: string | undefined;
  #ended = false;

  constructor(start: OperationStart) {
    const { side, connection, message, outer, parent } = start;
    this.connection = connection;
    this.method = clipped(message.method);
    this.#side = side;
    this.#params = message.params;
    this.#id = start.id;
    this.#protocolVersion = start.protocolVersion;
    this.progressToken = progressTokenOf(message);
    this.#target = targetOf(message.method, message.params, connection.telemetry.settings.captureContent);
    this.#ownsSpan = outer === undefined;
    if (outer === undefined) {
      const attributes = this.#identity();
      const kind = side === 'client' ? SpanKind.CLIENT : SpanKind.SERVER;
      const options =
        start.links === undefined ? { kind, attributes } : { kind, attributes, links: start.links };
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

  /** The first end counts; what comes later (an answer after a cancellation, a close) is passed over. */
  end(outcome: RequestOutcome): void {
    if (this.#ended) return;
    this.#ended = true;
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
    if (this.#ownsSpan) span.end();
    if (metrics.enabled) {
      const seconds = (performance.now() - this.startedAt) / 1000;
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
    if (this.#id !== undefined) span.setAttribute(semconv.ATTR_JSONRPC_REQUEST_ID, clipped(String(this.#id)));
    const { network, peer } = connection.facts;
    for (const key in network) span.setAttribute(key, network[key] as string);
    if (this.#protocolVersion !== undefined) {
      span.setAttribute(semconv.ATTR_MCP_PROTOCOL_VERSION, this.#protocolVersion);
    }
    const { sessionId } = connection;
    if (sessionId !== undefined) span.setAttribute(semconv.ATTR_MCP_SESSION_ID, sessionId);
    if (this.#side === 'server') describeHttpClient(parent, span);
    else if (peer.address !== undefined) {
      span.setAttribute(semconv.ATTR_SERVER_ADDRESS, peer.address);
      if (peer.port !== undefined) span.setAttribute(semconv.ATTR_SERVER_PORT, peer.port);
    }
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
    if (this.#side === 'client') addServerAddress(this.connection, attributes);
    return this.connection.telemetry.metrics.bound(attributes);
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
