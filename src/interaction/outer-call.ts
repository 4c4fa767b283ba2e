import { type Context, createContextKey, type Span } from '@opentelemetry/api';

/** Based on a registered symbol, so that two installed copies of this package share it. */
const KEY = createContextKey('mcp-observatory outer model call');

/**
 * A span opened around one model call. The first instrumented SDK called inside adds its data to this span instead of
 * opening another, so that the call is counted once.
 */
export class OuterCall {
  readonly span: Span;
  #state: 'free' | 'claimed' | 'done' = 'free';
  #onLeft: (() => void) | undefined;

  constructor(span: Span) {
    this.span = span;
  }

  /**
   * Claims the span for a starting call. `onLeft` is called if the span ends before the call, for example because a
   * stream was returned.
   * @returns whether the span was free.
   */
  claim(onLeft: () => void): boolean {
    if (this.#state !== 'free') return false;
    this.#state = 'claimed';
    this.#onLeft = onLeft;
    return true;
  }

  /** Whether a call was made inside and succeeded, so that the span has its data. */
  get isFilled(): boolean {
    return this.#state === 'done';
  }

  /** Ends the inner call. After a failure the next attempt may claim the span; after a success it may not. */
  settle(failed: boolean): void {
    if (this.#state !== 'claimed') return;
    this.#state = failed ? 'free' : 'done';
    this.#onLeft = undefined;
  }

  /** The span is about to end; an inner call still running continues without it. */
  close(): void {
    this.#state = 'done';
    const onLeft = this.#onLeft;
    this.#onLeft = undefined;
    onLeft?.();
  }
}

export function withOuterCall(active: Context, call: OuterCall): Context {
  return active.setValue(KEY, call);
}

export function findOuterCall(active: Context): OuterCall | undefined {
  return active.getValue(KEY) as OuterCall | undefined;
}
