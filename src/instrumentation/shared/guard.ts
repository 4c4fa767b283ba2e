import { type Context, context, type DiagLogger, diag } from '@opentelemetry/api';

/**
 * Keeps faults of this package away from the user's call.
 *
 * Every patch has three steps: run our own code (`run`), make the user's call exactly once (`call`), observe
 * how it ends (`observe`). An error in our code is counted, logged by `diag`, and goes no further; an error in the
 * user's code passes through untouched.
 */

/** After the first line, a faulty point is logged only once per this many faults: a hot path must not flood a log. */
const FAULTS_PER_LINE = 1000;

export class Guard {
  readonly #faults = new Map<string, number>();
  readonly #diag: DiagLogger;
  #injector: ((point: string) => void) | undefined;

  /** @param namespace Component name in the diagnostics, e.g. `mcp-observatory.mcp`. */
  constructor(namespace: string) {
    this.#diag = diag.createComponentLogger({ namespace });
  }

  /** Faults so far, by patch point. Empty unless this package has a bug. */
  get faults(): ReadonlyMap<string, number> {
    return this.#faults;
  }

  /** For tests: called at the start of every guarded piece of work; what it throws counts as a fault of ours. */
  injectFaults(injector: ((point: string) => void) | undefined): void {
    this.#injector = injector;
  }

  /** Runs our own code. Gives `undefined` when it threw, so `undefined` must mean "go on without us". */
  run<T>(point: string, work: () => T): T | undefined {
    try {
      this.#injector?.(point);
      return work();
    } catch (fault) {
      this.report(point, fault);
      return undefined;
    }
  }

  /** Makes the user's call once, with `active` as the active context; a context manager that fails is passed by. */
  call<A extends unknown[], R>(
    point: string,
    active: Context,
    original: (...args: A) => R,
    self: unknown,
    args: A,
  ): R {
    let entered = false;
    try {
      this.#injector?.(point);
      return context.with(active, () => {
        entered = true;
        return original.apply(self, args);
      });
    } catch (error) {
      if (entered) throw error;
      this.report(point, error);
      return original.apply(self, args);
    }
  }

  /**
   * Watches a promise of the user's without touching it: the caller hands back the very same promise, and the branch
   * attached here never rejects. Anything that is not a promise counts as settled at once.
   */
  observe<T>(
    point: string,
    promise: T | PromiseLike<T>,
    onValue: (value: T) => void,
    onError: (error: unknown) => void,
  ): void {
    this.run(point, () => {
      if (!isThenable(promise)) {
        onValue(promise);
        return;
      }
      promise.then(
        (value) => {
          this.run(point, () => onValue(value));
        },
        (error: unknown) => {
          this.run(point, () => onError(error));
        },
      );
    });
  }

  /** Counts a fault caught elsewhere. */
  report(point: string, fault: unknown): void {
    const count = (this.#faults.get(point) ?? 0) + 1;
    this.#faults.set(point, count);
    if (count % FAULTS_PER_LINE !== 1) return;
    try {
      this.#diag.error(`fault in ${point}, the call goes on without telemetry (${count} so far)`, fault);
    } catch {
      // The diag logger is the application's; if it throws, there is no other place to report to.
    }
  }
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<T>).then === 'function';
}

/** The guard of everything that observes calls to models; its faults are those of this package, never the SDK's. */
export const modelGuard: Guard = new Guard('mcp-observatory.models');

/** Runs one step of our own; `undefined` means that it failed and the call goes on without it. */
export function guard<T>(point: string, work: () => T): T | undefined {
  return modelGuard.run(point, work);
}
