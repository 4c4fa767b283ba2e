/**
 * Rows beside an SDK that takes no span processors, as those of Sentry and dd-trace: each span of ours there is recorded a
 * second time, with the same ids, by a provider of ours.
 */
import { randomBytes } from 'node:crypto';
import {
  type Context,
  context,
  type Span,
  type SpanContext,
  type SpanOptions,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import type { SpanProcessor } from '@opentelemetry/sdk-trace';
import { loadSdkNow } from '../base/index.ts';

/**
 * @param theirs the application's.
 * @param processors of the second record.
 * @throws ObservatoryError `MISSING_PEER` where no SDK for the second record is installed.
 */
export function doubleSpans(theirs: TracerProvider, processors: SpanProcessor[]): TracerProvider {
  const sdk = loadSdkNow();
  const ids = new GivenIds();
  const ours = sdk.createProvider(sdk.createResource(undefined), processors, ids);
  return {
    getTracer: (...args) => new DoubledTracer(theirs.getTracer(...args), ours.getTracer(...args), ids),
  };
}

/** Has the next span get the ids of another one. */
class GivenIds {
  #given: SpanContext | undefined;

  give(given: SpanContext, parent: SpanContext | undefined): void {
    // Some SDKs hand out the parent's ids, or none, for what they do not record.
    this.#given = /[1-9a-f]/.test(given.spanId) && given.spanId !== parent?.spanId ? given : undefined;
  }

  generateTraceId = (): string => this.#given?.traceId ?? randomBytes(16).toString('hex');

  generateSpanId = (): string => this.#given?.spanId ?? randomBytes(8).toString('hex');
}

/** The second records, by the spans that stand for both. */
const seconds = new WeakMap<Span, Span>();

class DoubledTracer implements Tracer {
  readonly #theirs: Tracer;
  readonly #ours: Tracer;
  readonly #ids: GivenIds;

  constructor(theirs: Tracer, ours: Tracer, ids: GivenIds) {
    this.#theirs = theirs;
    this.#ours = ours;
    this.#ids = ids;
  }

  startSpan(name: string, options: SpanOptions = {}, parent: Context = context.active()): Span {
    const theirs = this.#theirs.startSpan(name, options, parent);
    const given = theirs.spanContext();
    const above = trace.getSpan(parent);
    this.#ids.give(given, above?.spanContext());
    return joinSpans(theirs, this.#ours.startSpan(name, options, parentOfSecond(parent, above, given)));
  }

  startActiveSpan(name: string, ...args: unknown[]): never {
    const work = args.pop() as (span: Span) => never;
    const [options, given] = args as [SpanOptions?, Context?];
    const parent = given ?? context.active();
    const span = this.startSpan(name, options, parent);
    return context.with(trace.setSpan(parent, span), work, undefined, span);
  }
}

/** A span that has no row is no parent of one: it would be missed. */
function parentOfSecond(parent: Context, above: Span | undefined, { traceId }: SpanContext): Context {
  const second = above === undefined ? undefined : seconds.get(above);
  if (second !== undefined) return trace.setSpan(parent, second);
  const from = above?.spanContext();
  return from?.isRemote === true && from.traceId === traceId ? parent : trace.deleteSpan(parent);
}

/** What is written to a span. */
const WRITES: ReadonlySet<string | symbol> = new Set<keyof Span>([
  'setAttribute',
  'setAttributes',
  'addEvent',
  'addLink',
  'addLinks',
  'setStatus',
  'updateName',
  'recordException',
  'end',
]);

/** Their span to whoever reads it, and both to whoever writes. */
function joinSpans(theirs: Span, ours: Span): Span {
  const both: Span = new Proxy(theirs, {
    get(target, key) {
      if (key === 'isRecording') return () => target.isRecording() || ours.isRecording();
      const value: unknown = Reflect.get(target, key, target) ?? Reflect.get(ours, key, ours);
      if (typeof value !== 'function' || key === 'constructor') return value;
      if (!WRITES.has(key)) return value.bind(Reflect.has(target, key) ? target : ours);
      return (...args: unknown[]) => {
        Reflect.apply(value, target, args);
        Reflect.apply(Reflect.get(ours, key, ours), ours, args);
        return both;
      };
    },
    set: (target, key, value) => Reflect.set(ours, key, value) && Reflect.set(target, key, value),
  });
  seconds.set(both, ours);
  return both;
}
