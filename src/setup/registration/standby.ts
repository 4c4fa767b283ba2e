import type { Tracer, TracerProvider } from '@opentelemetry/api';
import { FollowingTracer, type ManagedProvider } from '../../base/index.ts';

/**
 * The provider that `register` sets globally: it stands for ours until the application sets its own, and for that from
 * then on. Instrumentations keep the tracers they get, which may be long before the application sets its provider.
 */
export class StandbyProvider implements ManagedProvider {
  #current: TracerProvider & Partial<ManagedProvider>;

  constructor(ours: ManagedProvider) {
    this.#current = ours;
  }

  /** Spans that start from now on are those of the application's provider. */
  giveWayTo(successor: TracerProvider): void {
    this.#current = successor;
  }

  getTracer(...args: Parameters<TracerProvider['getTracer']>): Tracer {
    return new FollowingTracer(() => this.#current, args);
  }

  async forceFlush(): Promise<void> {
    await this.#current.forceFlush?.();
  }

  async shutdown(): Promise<void> {
    await this.#current.shutdown?.();
  }
}
