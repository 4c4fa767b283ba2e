/** Adds to an application's own SDK: signals on its spans, and rows of them. */
import { randomBytes } from 'node:crypto';
import {
  type Span as ApiSpan,
  type Context,
  context,
  diag,
  type SpanContext,
  type SpanOptions,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace';
import { errorMessage, loadSdkNow, printable } from '../base/index.ts';
import type { DurableSpanProcessor } from '../durable/index.ts';
import { ObservatorySpanProcessor, type ObservatorySpanProcessorOptions } from '../processor/index.ts';

/** The span processors of an application's SDK. */
export interface OtherProcessors {
  /** Adds a processor before all others, so that they see what it writes. */
  addFirst(processor: SpanProcessor): void;
  addLast(processor: SpanProcessor): void;
  /** Has a span of ours exported as one of theirs. It is enriched already. */
  take(span: ReadableSpan): void;
}

/** An application's SDK with ours in it. */
export interface JoinedSdk {
  /** Where spans of ours start. */
  readonly tracerProvider: TracerProvider;
  /** Absent where it takes no processors. */
  readonly processors: OtherProcessors | undefined;
}

/**
 * Enriches the spans of an application's SDK, and stores them where there is a database. Of an SDK that takes no
 * processors, only the spans of ours are.
 * @param stores where they go besides.
 * @param flushMs how long flushes of the SDK may take longer because of the stores.
 */
export function joinSdk(
  provider: TracerProvider,
  stores: readonly DurableSpanProcessor[],
  flushMs: () => number,
  options: ObservatorySpanProcessorOptions = {},
): JoinedSdk {
  const processors = findProcessors(provider);
  const enriching = new ObservatorySpanProcessor(options);
  const storing = stores.map((store) => new StoredBeside(store, flushMs));
  if (processors === undefined) {
    const added = storing.length === 0 ? undefined : [enriching, ...storing];
    return { tracerProvider: standBeside(provider, added), processors };
  }
  processors.addFirst(enriching);
  for (const one of storing) processors.addLast(one);
  return { tracerProvider: provider, processors };
}

/**
 * Finds where a running provider keeps its span processors. Neither SDK line has a method for it, but both keep a list.
 * @returns undefined where it is not found: the application must add processors itself.
 */
function findProcessors(provider: TracerProvider): OtherProcessors | undefined {
  const processors = listProcessors(provider);
  if (processors === undefined) return undefined;
  const enrichers = new Set<SpanProcessor>();
  return {
    addFirst: (processor) => {
      enrichers.add(processor);
      processors.unshift(processor);
    },
    addLast: (processor) => void processors.push(processor),
    take: (span) => {
      const theirs = withResource(span, Reflect.get(provider, '_resource'));
      for (const processor of processors) {
        if (enrichers.has(processor)) continue;
        try {
          processor.onEnd(theirs);
        } catch (error) {
          diag.debug('mcp-observatory: a span processor of the application failed', error);
        }
      }
    },
  };
}

export function listProcessors(provider: TracerProvider): SpanProcessor[] | undefined {
  const active: unknown = Reflect.get(provider, '_activeSpanProcessor');
  const list: unknown =
    typeof active === 'object' && active !== null ? Reflect.get(active, '_spanProcessors') : undefined;
  return Array.isArray(list) ? (list as SpanProcessor[]) : undefined;
}

/** The same span, of the service that the application names in its SDK. */
function withResource(span: ReadableSpan, resource: unknown): ReadableSpan {
  if (typeof resource !== 'object' || resource === null) return span;
  return Object.create(span, {
    resource: { value: resource, enumerable: true },
    spanContext: { value: () => span.spanContext() },
  }) as ReadableSpan;
}

function standBeside(provider: TracerProvider, added: SpanProcessor[] | undefined): TracerProvider {
  const name = printable(provider.constructor.name || 'unknown');
  const warn = (rows: string) =>
    diag.warn(
      `mcp-observatory: the application's tracer provider (${name}) takes no span processors from us, so its spans get no signals.${rows} If it has an option for span processors, give it an ObservatorySpanProcessor, and a DurableSpanProcessor for rows`,
    );
  try {
    const doubled = added === undefined ? provider : doubleSpans(provider, added);
    warn(added === undefined ? '' : ' Rows have the calls that we trace, and no other spans.');
    return doubled;
  } catch (error) {
    warn(` No rows are written to the database of MCP_OBSERVATORY_DATABASE_URL: ${errorMessage(error)}.`);
    return provider;
  }
}

/** Stores spans beside an SDK whose flushes neither fail nor wait for long because of that. */
class StoredBeside implements SpanProcessor {
  readonly #store: DurableSpanProcessor;
  readonly #flushMs: () => number;

  constructor(store: DurableSpanProcessor, flushMs: () => number) {
    this.#store = store;
    this.#flushMs = flushMs;
  }

  onStart(_span: Span, _parentContext: Context): void {
    this.#store.onStart();
  }

  onEnd(span: ReadableSpan): void {
    this.#store.onEnd(span);
  }

  /** Spans not stored in time are retried until the process ends, when losses are logged. */
  async forceFlush(): Promise<void> {
    await this.#store.forceFlush(this.#flushMs()).catch(() => {});
  }

  /** The store ends with the process: spans may end after the SDK is shut down. */
  shutdown(): Promise<void> {
    return this.forceFlush();
  }
}

/**
 * Records each span of ours in an SDK that takes no span processors, as those of Sentry and dd-trace, a second time, with
 * the same ids.
 * @param theirs the application's.
 * @param processors of the second record.
 * @throws ObservatoryError `MISSING_PEER` where no SDK for the second record is installed.
 */
function doubleSpans(theirs: TracerProvider, processors: SpanProcessor[]): TracerProvider {
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
const seconds = new WeakMap<ApiSpan, ApiSpan>();

class DoubledTracer implements Tracer {
  readonly #theirs: Tracer;
  readonly #ours: Tracer;
  readonly #ids: GivenIds;

  constructor(theirs: Tracer, ours: Tracer, ids: GivenIds) {
    this.#theirs = theirs;
    this.#ours = ours;
    this.#ids = ids;
  }

  startSpan(name: string, options: SpanOptions = {}, parent: Context = context.active()): ApiSpan {
    const theirs = this.#theirs.startSpan(name, options, parent);
    const given = theirs.spanContext();
    const above = trace.getSpan(parent);
    this.#ids.give(given, above?.spanContext());
    return joinSpans(theirs, this.#ours.startSpan(name, options, parentOfSecond(parent, above, given)));
  }

  startActiveSpan(name: string, ...args: unknown[]): never {
    const work = args.pop() as (span: ApiSpan) => never;
    const [options, given] = args as [SpanOptions?, Context?];
    const parent = given ?? context.active();
    const span = this.startSpan(name, options, parent);
    return context.with(trace.setSpan(parent, span), work, undefined, span);
  }
}

/** A span that has no row is no parent of one: it would be missed. */
function parentOfSecond(parent: Context, above: ApiSpan | undefined, { traceId }: SpanContext): Context {
  const second = above === undefined ? undefined : seconds.get(above);
  if (second !== undefined) return trace.setSpan(parent, second);
  const from = above?.spanContext();
  return from?.isRemote === true && from.traceId === traceId ? parent : trace.deleteSpan(parent);
}

/** What is written to a span. */
const WRITES: ReadonlySet<string | symbol> = new Set<keyof ApiSpan>([
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

/** One span for both records: reads go to the application's, writes to both. */
function joinSpans(theirs: ApiSpan, ours: ApiSpan): ApiSpan {
  const both: ApiSpan = new Proxy(theirs, {
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
