/** Where a process is suspended as soon as it has answered, spans are sent before: on Vercel the platform waits. */
import type { Context } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import { isDoneWithin } from '../base/index.ts';

/** Where Vercel's runtime keeps what belongs to the request under way; the interface that `@vercel/functions` reads. */
const REQUEST_CONTEXT = Symbol.for('@vercel/request-context');

type WaitUntil = (work: Promise<unknown>) => void;

/** How long a flush may keep a function from being suspended. */
const MAX_WAIT_MS = 5000;

/**
 * Sends what a request has left before its function is suspended, which a platform does as soon as the response is out
 * unless it is asked to wait (`waitUntil`). Elsewhere it does nothing.
 */
export class FlushAfterResponse implements SpanProcessor {
  readonly #flush: () => Promise<void>;
  /** What to call when the first span of a request has ended, by its id. */
  readonly #open = new Map<string, () => void>();

  constructor(flush: () => Promise<void>) {
    this.#flush = flush;
  }

  onStart(span: Span, _context: Context): void {
    const { parentSpanContext: parent } = span as unknown as ReadableSpan;
    if (parent !== undefined && parent.isRemote !== true) return;
    const waitUntil = waitUntilOfRequest();
    if (waitUntil === undefined) return;
    const ended = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, MAX_WAIT_MS);
      timer.unref();
      this.#open.set(span.spanContext().spanId, () => {
        clearTimeout(timer);
        resolve();
      });
    });
    const id = span.spanContext().spanId;
    waitUntil(ended.then(() => this.#send(id)));
  }

  onEnd(span: ReadableSpan): void {
    this.#open.get(span.spanContext().spanId)?.();
  }

  async forceFlush(): Promise<void> {}

  async shutdown(): Promise<void> {
    for (const end of this.#open.values()) end();
  }

  /** Spans not sent are retried with the next request; the platform may suspend the function meanwhile. */
  async #send(id: string): Promise<void> {
    this.#open.delete(id);
    await isDoneWithin(
      MAX_WAIT_MS,
      this.#flush().catch(() => {}),
    );
  }
}

function waitUntilOfRequest(): WaitUntil | undefined {
  try {
    const holder = Reflect.get(globalThis, REQUEST_CONTEXT) as
      | { get?: () => { waitUntil?: WaitUntil } }
      | undefined;
    const request = holder?.get?.();
    return typeof request?.waitUntil === 'function' ? request.waitUntil.bind(request) : undefined;
  } catch {
    return undefined;
  }
}
