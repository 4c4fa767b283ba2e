import type { Span, Tracer, TracerProvider } from '@opentelemetry/api';
import type { ManagedProvider } from '../../base/index.ts';

/**
 * The provider that `register` sets globally: it stands for ours until the application sets its own, and for that from
 * then on. Instrumentations keep the tracers they get, which may be long before the application sets its provider.
 */
export class StandbyProvider implements ManagedProvider {
  #current: TracerProvider & Partial<ManagedProvider>;

  constructor(ours: ManagedProvider) {
    this.#current = ours;
  }

  get current(): TracerProvider {
    return this.#current;
  }

  /** Spans that start from now on are those of the application's provider. */
  giveWayTo(successor: TracerProvider): void {
    this.#current = successor;
  }

  getTracer(...args: Parameters<TracerProvider['getTracer']>): Tracer {
    return new StandbyTracer(this, args);
  }

  async forceFlush(): Promise<void> {
    await this.#current.forceFlush?.();
  }

  async shutdown(): Promise<void> {
    await this.#current.shutdown?.();
  }
}

class StandbyTracer implements Tracer {
  readonly #standby: StandbyProvider;
  readonly #args: Parameters<TracerProvider['getTracer']>;
  #provider: TracerProvider;
  #tracer: Tracer;

  constructor(standby: StandbyProvider, args: Parameters<TracerProvider['getTracer']>) {
    this.#standby = standby;
    this.#args = args;
    this.#provider = standby.current;
    this.#tracer = this.#provider.getTracer(...args);
  }

  startSpan(...args: Parameters<Tracer['startSpan']>): Span {
    return this.#now().startSpan(...args);
  }

  startActiveSpan(...args: unknown[]): never {
    const tracer = this.#now();
    return Reflect.apply(tracer.startActiveSpan, tracer, args) as never;
  }

  #now(): Tracer {
    const { current } = this.#standby;
    if (this.#provider !== current) {
      this.#provider = current;
      this.#tracer = current.getTracer(...this.#args);
    }
    return this.#tracer;
  }
}
