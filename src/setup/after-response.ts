/**
 * Where a process is suspended as soon as it has answered, spans are sent before: on Vercel the platform waits, on AWS Lambda
 * the handler's answer does. How a handler is found there: docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html.
 */
import { basename, dirname, resolve } from 'node:path';
import type { Context } from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import { Hook as RequireHook } from 'require-in-the-middle';
import { isDoneWithin } from '../base/index.ts';
import { flushNow } from './exit.ts';
import { onImport } from './registration/index.ts';

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

type Handler = (...args: unknown[]) => unknown;
type Env = Readonly<Record<string, string | undefined>>;

/** Of the time that a function has left, the share that spans may take. */
const SHARE = 0.5;

/** Has the handler that this environment names send the spans of each call. Elsewhere it does nothing. */
export function flushAfterHandler(env: Env): void {
  const { _HANDLER: handler, LAMBDA_TASK_ROOT: root } = env;
  if (handler === undefined || root === undefined || env.AWS_LAMBDA_RUNTIME_API === undefined) return;
  const file = basename(handler);
  const [stem = '', ...members] = file.split('.');
  const path = resolve(root, dirname(handler), stem);
  const files = ['.js', '.mjs', '.cjs'].map((extension) => `${path}${extension}`);
  new RequireHook(files, (exports) => {
    wrapMember(exports as object, members);
    return exports;
  });
  onImport(files, (exports) => wrapMember(exports, members));
}

function wrapMember(exports: object, members: readonly string[]): void {
  const last = members.at(-1) ?? '';
  let owner: unknown = exports;
  for (const name of members.slice(0, -1)) owner = Reflect.get(Object(owner), name);
  const handler: unknown = Reflect.get(Object(owner), last);
  if (typeof handler === 'function') Reflect.set(Object(owner), last, flushing(handler as Handler));
}

/** The same handler, by promise or callback, with what the runtime reads from it: its length, and marks of streams. */
function flushing(handler: Handler): Handler {
  return new Proxy(handler, {
    apply(target, self, args: unknown[]) {
      const left = remaining(args) * SHARE;
      const own = args.map((arg) =>
        typeof arg !== 'function'
          ? arg
          : (...answer: unknown[]) => void flushNow(left).then(() => Reflect.apply(arg, undefined, answer)),
      );
      const result: unknown = Reflect.apply(target, self, own);
      if (!(result instanceof Promise)) return result;
      return result.finally(() => flushNow(left));
    },
  });
}

/** Milliseconds that the function has, by the context among its arguments. */
function remaining(args: readonly unknown[]): number {
  for (const arg of args) {
    const ask: unknown = Reflect.get(Object(arg), 'getRemainingTimeInMillis');
    if (typeof ask === 'function') return Number(Reflect.apply(ask, arg, [])) || 0;
  }
  return Number.POSITIVE_INFINITY;
}
