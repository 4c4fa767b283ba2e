import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { isOwnScope } from '../base/index.ts';
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
