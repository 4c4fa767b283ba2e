/** What stands on the span of an operation, beside what the message says of itself. */
import { type Attributes, type Context, type Span, SpanStatusCode } from '@opentelemetry/api';
import { semconv } from '../../base/index.ts';
import { boundedCopy } from '../../json/index.ts';
import { findAttributes } from '../shared/index.ts';
import { HTTP_CLIENT_KEY } from './connection.ts';
import { describeException } from './failure.ts';
import type { McpSettings, RequestId } from './internal-types.ts';
import { clipped } from './methods.ts';
import type { RequestOutcome } from './outcome.ts';
import type { McpSide } from './types.ts';

/** Remote end of an HTTP request, under {@link HTTP_CLIENT_KEY} in the context. */
export interface HttpClient {
  readonly address?: string | undefined;
  readonly port?: number | undefined;
  readonly httpVersion?: string | undefined;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
}

export const ATTR_TASK_ID = 'observatory.mcp.task.id';
const ATTR_RESULT_TYPE = 'observatory.mcp.result_type';
const ATTR_CACHE_SCOPE = 'observatory.mcp.cache_scope';
const ATTR_TTL_MS = 'observatory.mcp.ttl_ms';

/** What a message says when it is sent or arrives, beside what its span starts with. */
export interface StartFacts {
  readonly taskId: string | undefined;
  readonly requestId: RequestId | undefined;
  /** What all messages of the connection have. */
  readonly common: Attributes;
  readonly from: Attributes | undefined;
}

type SetAttributes = (span: Span, attributes: Attributes) => void;

export function describeStart(
  span: Span,
  { taskId, requestId, common, from }: StartFacts,
  set: SetAttributes,
): void {
  if (taskId !== undefined) set(span, { [ATTR_TASK_ID]: clipped(taskId) });
  if (requestId !== undefined) set(span, requestAttributes(requestId));
  set(span, common);
  if (from !== undefined) set(span, from);
}

export function describeRequest(span: Span, id: RequestId | undefined): void {
  if (id !== undefined) setAll(span, requestAttributes(id));
}

function requestAttributes(id: RequestId): Attributes {
  return { [semconv.ATTR_JSONRPC_REQUEST_ID]: clipped(String(id)) };
}

export function setAll(span: Span, attributes: Attributes): void {
  span.setAttributes(attributes);
}

/** Sets what the application has not set on the span meanwhile. */
export function setMissing(span: Span, attributes: Attributes): void {
  const present = findAttributes(span) ?? {};
  for (const key in attributes) {
    const value = attributes[key];
    if (value !== undefined && present[key] === undefined) span.setAttribute(key, value);
  }
}

export function describeFailure(
  span: Span,
  outcome: RequestOutcome,
  side: McpSide,
  settings: McpSettings,
): void {
  const { errorType, statusCode } = outcome;
  if (errorType === undefined) return;
  span.setAttribute(semconv.ATTR_ERROR_TYPE, errorType);
  if (statusCode !== undefined) span.setAttribute(semconv.ATTR_RPC_RESPONSE_STATUS_CODE, statusCode);
  describeException(span, outcome, side === 'server', settings);
  const words = settings.captureContent ? outcome.message?.slice(0, settings.contentLimitChars) : undefined;
  const message = words ?? outcome.summary;
  span.setStatus(
    message === undefined ? { code: SpanStatusCode.ERROR } : { code: SpanStatusCode.ERROR, message },
  );
}

/** From 2026-07-28 on: a result that asks for more input, and who may keep it for how long. */
export function describeResult(span: Span, result: unknown): void {
  if (typeof result !== 'object' || result === null) return;
  const { resultType, cacheScope, ttlMs } = result as Readonly<Record<string, unknown>>;
  if (typeof resultType === 'string' && resultType !== 'complete')
    span.setAttribute(ATTR_RESULT_TYPE, clipped(resultType));
  if (typeof cacheScope === 'string') span.setAttribute(ATTR_CACHE_SCOPE, clipped(cacheScope));
  if (typeof ttlMs === 'number' && Number.isFinite(ttlMs)) span.setAttribute(ATTR_TTL_MS, ttlMs);
}

/** Arguments and result of a tool call, for its span. */
export interface ToolCallContent {
  readonly characters: number;
  /** JSON takes time; the application may change its values meanwhile. */
  write(span: Span): void;
}

export function toolCallContent(
  toolArguments: unknown,
  { result }: RequestOutcome,
  { contentLimitChars: limit }: McpSettings,
): ToolCallContent {
  const called = toolArguments === undefined ? undefined : boundedCopy(toolArguments, limit);
  const answered = result === undefined ? undefined : boundedCopy(result, limit);
  return {
    characters: (called?.characters ?? 0) + (answered?.characters ?? 0),
    write(span) {
      if (called !== undefined) span.setAttribute(semconv.ATTR_GEN_AI_TOOL_CALL_ARGUMENTS, called.json());
      if (answered !== undefined) span.setAttribute(semconv.ATTR_GEN_AI_TOOL_CALL_RESULT, answered.json());
    },
  };
}

/** Who sent the HTTP request that a message came in. */
export function httpClientAttributes(from: Context): Attributes | undefined {
  const client = from.getValue(HTTP_CLIENT_KEY) as HttpClient | undefined;
  if (client === undefined) return undefined;
  return {
    [semconv.ATTR_CLIENT_ADDRESS]: client.address,
    [semconv.ATTR_CLIENT_PORT]: client.port,
    [semconv.ATTR_NETWORK_PROTOCOL_VERSION]: client.httpVersion,
  };
}
