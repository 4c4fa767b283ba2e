import { type Context, createContextKey, type Span } from '@opentelemetry/api';

/** A registered symbol underneath, so that two installed copies of this package see each other's. */
const KEY = createContextKey('mcp-observatory outer model call');

/**
 * A span that stands for one model call, made around whatever makes the call. The first instrumented SDK called inside
 * completes it instead of making a span of its own: one call, one cost.
 */
export class OuterCall {
  readonly span: Span;
  #state: 'free' | 'claimed' | 'done' = 'free';
  #onLeft: (() => void) | undefined;

  constructor(span: Span) {
    this.span = span;
  }

  /**
   * Takes the span for a call that begins now. `onLeft` is called when the span ends before that call does, as it
   * happens with a stream that is handed out.
   * @returns whether the span was free.
   */
  claim(onLeft: () => void): boolean {
    if (this.#state !== 'free') return false;
    this.#state = 'claimed';
    this.#onLeft = onLeft;
    return true;
  }

  /** The call inside has ended. A failed one leaves the span to the next attempt; a second success is a second call. */
  settle(failed: boolean): void {
    if (this.#state !== 'claimed') return;
    this.#state = failed ? 'free' : 'done';
    this.#onLeft = undefined;
  }

  /** The span is about to end: whoever is still under way goes on without it. */
  close(): void {
    this.#state = 'done';
    const onLeft = this.#onLeft;
    this.#onLeft = undefined;
    onLeft?.();
  }
}

/** The context to run a call in whose span is `call`'s. */
export function withOuterCall(active: Context, call: OuterCall): Context {
  return active.setValue(KEY, call);
}

/** The outer call of a context, if it has one. */
export function outerCallOf(active: Context): OuterCall | undefined {
  return active.getValue(KEY) as OuterCall | undefined;
}
