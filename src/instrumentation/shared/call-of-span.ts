import { type Span, trace } from '@opentelemetry/api';

/** The call that a span is of. A property: one more value in the context costs another copy of it in each call. */
const CALL: unique symbol = Symbol('mcp-observatory.model-call');

interface Retried {
  retried(): void;
}

interface CallSpan extends Span {
  [CALL]?: Retried | undefined;
}

/** A frozen span tells of no retries. */
export function setCall(span: CallSpan | undefined, call: Retried | undefined): void {
  try {
    if (span !== undefined) span[CALL] = call;
  } catch {}
}

export function noteRetry(): void {
  (trace.getActiveSpan() as CallSpan | undefined)?.[CALL]?.retried();
}
