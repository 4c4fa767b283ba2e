import { type Context, type Span, SpanKind, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { isOwnScope, MCP_SCOPE, semconv } from '../base/index.ts';
import { readTextField } from '../interaction/index.ts';
import { isAtOneTime, toCall } from './known-call.ts';
import { processKey } from './process-key.ts';
import { RecentMap } from './recent-map.ts';

/** Tools kept in mind, and the latest calls of each. */
const MAX_TOOLS = 256;
const MAX_CALLS = 16;
const NOTHING_SAID = { responseId: undefined, models: [], isEstimated: true };

interface OwnCall {
  readonly span: ReadableSpan;
  /** The other instrumentations that have a span of it. */
  readonly scopes: Set<string>;
}

/** The tool calls of ours, by which the spans are known that another instrumentation has of them in a trace of its own. */
export class ToolTwins {
  readonly #calls = new RecentMap<OwnCall[]>(MAX_TOOLS);

  /** Remembers a tool's span of ours, unless it is the transport of one. */
  note(span: ReadableSpan): void {
    const key = findKey(span);
    if (key === undefined || !isOwnScope(span.instrumentationScope?.name)) return;
    const calls = this.#calls.get(key) ?? [];
    const parent = span.parentSpanContext?.spanId;
    if (parent !== undefined && calls.some((call) => call.span.spanContext().spanId === parent)) return;
    this.#calls.set(key, [...calls, { span, scopes: new Set<string>() }].slice(-MAX_CALLS));
  }

  /** @returns the id of our span of the same call: of that tool, in this process, at that time; one for one. */
  find(span: ReadableSpan): string | undefined {
    const key = findKey(span);
    const known = key === undefined ? undefined : this.#calls.get(key);
    if (known === undefined || isOwnScope(span.instrumentationScope?.name)) return undefined;
    const call = toCall(span, 'tool', NOTHING_SAID);
    const twin = known.find(({ span: own, scopes }) => {
      if (own.spanContext().traceId === call.traceId || scopes.has(call.scope)) return false;
      return isAtOneTime(toCall(own, 'tool', NOTHING_SAID), call);
    });
    twin?.scopes.add(call.scope);
    return twin?.span.spanContext().spanId;
  }
}

function findKey(span: ReadableSpan): string | undefined {
  const tool = readTextField(span.attributes, 'tool_name');
  return tool === undefined ? undefined : `${processKey('tool', span)} ${tool}`;
}

/** What two spans of one request to an MCP server have in common. */
const REQUEST = [semconv.ATTR_MCP_METHOD_NAME, semconv.ATTR_JSONRPC_REQUEST_ID] as const;

/**
 * A server library may write its span of a request while it is answered, into another trace than ours, or below spans
 * that ours is not below.
 * @returns the id of our span of that request, if it is the active one.
 */
export function findServedRequest(span: Span & Partial<ReadableSpan>, active: Context): string | undefined {
  const ours = trace.getSpan(active) as (Span & Partial<ReadableSpan>) | undefined;
  if (span.kind !== SpanKind.SERVER || ours?.kind !== SpanKind.SERVER) return undefined;
  const from = [ours, span].map(({ instrumentationScope }) => instrumentationScope?.name === MCP_SCOPE);
  if (from[0] !== true || from[1] === true) return undefined;
  const isOne = REQUEST.every((name) => {
    const value = span.attributes?.[name];
    return value !== undefined && value === ours.attributes?.[name];
  });
  return isOne ? ours.spanContext().spanId : undefined;
}
