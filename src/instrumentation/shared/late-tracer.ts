import { type Span, type Tracer, type TracerProvider, trace } from '@opentelemetry/api';

/**
 * A provider for instrumentations that are made before any is registered. The base class asks the API that it
 * requires for a tracer to come; from API 1.10 on that is another module than the one which is imported, and never
 * hears of a provider registered there. What is registered itself is common to both, so it is asked for late.
 */
const LATE: TracerProvider = {
  getTracer: (name, version) => new LateTracer(name, version),
};

/** What an instrumentation starts with: nothing to change when a provider is registered already. */
export function lateTracerProvider(): TracerProvider | undefined {
  const registered = trace.getTracerProvider() as TracerProvider & { getDelegate?: () => object };
  const delegate = registered.getDelegate?.() ?? registered;
  return delegate.constructor.name === 'NoopTracerProvider' ? LATE : undefined;
}

class LateTracer implements Tracer {
  readonly #name: string;
  readonly #version: string | undefined;
  #provider: TracerProvider | undefined;
  #tracer: Tracer | undefined;

  constructor(name: string, version: string | undefined) {
    this.#name = name;
    this.#version = version;
  }

  startSpan(...args: Parameters<Tracer['startSpan']>): Span {
    return this.#current().startSpan(...args);
  }

  startActiveSpan(...args: unknown[]): never {
    const tracer = this.#current();
    return Reflect.apply(tracer.startActiveSpan, tracer, args) as never;
  }

  #current(): Tracer {
    const provider = trace.getTracerProvider();
    if (this.#tracer === undefined || provider !== this.#provider) {
      this.#provider = provider;
      this.#tracer = provider.getTracer(this.#name, this.#version);
    }
    return this.#tracer;
  }
}
