import { guard } from './guard.ts';

/** A call whose stream was handed out and not yet read to its end. */
export interface OpenCall {
  /** When the stream last moved, in `performance.now()` milliseconds. */
  readonly lastActivityMs: number;
  /** Ends the span of a stream that nobody reads. */
  abandon(): void;
}

const SWEEP_EVERY_MS = 30_000;
/** More open streams than this and the one that is open longest ends its span. */
const MAX_OPEN = 10_000;

/**
 * Sees to it that every stream ends its span: at garbage collection, after a bound of idleness, by number, or when the
 * process shuts down. It holds calls, never their streams, so it keeps no stream alive.
 */
export class OpenCalls {
  readonly #open = new Map<OpenCall, number>();
  readonly #collected = new FinalizationRegistry<OpenCall>((call) => call.abandon());
  readonly #others = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** Counts the call as open until {@link close}; it is abandoned once idle for `idleTimeoutMs`. */
  track(call: OpenCall, idleTimeoutMs: number): void {
    this.#open.set(call, idleTimeoutMs);
    if (this.#open.size > MAX_OPEN) {
      const [eldest] = this.#open.keys();
      eldest?.abandon();
    }
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref();
  }

  /** Abandons the call when `holder` is garbage, unless the call has ended by then. */
  abandonWith(holder: object, call: OpenCall): void {
    this.#collected.register(holder, call);
  }

  close(call: OpenCall): void {
    if (!this.#open.delete(call) || this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Registers what else is to be ended by {@link abandonAll}, once per kind of thing. `end` must not throw. */
  alsoEnd(end: () => void): void {
    this.#others.add(end);
  }

  /** Ends the span of everything open: for the moment before a last flush. */
  abandonAll(): void {
    for (const call of [...this.#open.keys()]) call.abandon();
    for (const end of this.#others) end();
  }

  #sweep(): void {
    const now = performance.now();
    for (const [call, idleTimeoutMs] of [...this.#open]) {
      if (now - call.lastActivityMs >= idleTimeoutMs) call.abandon();
    }
  }
}

/** One for the process: a shutdown must reach the open calls of every instrumentation. */
export const openCalls: OpenCalls = new OpenCalls();

/** More than these at once and they are watched right away: a program may never reach its event loop. */
const MAX_PENDING = 1000;
let pending: Claim[] = [];

/**
 * Whether anybody has asked a promise for its result, in any way. A promise that is garbage before that abandons its
 * call. Watching for garbage is dear and nearly every promise is awaited where it is made, so only one that is not
 * claimed by the end of the turn is watched.
 */
export class Claim {
  #promise: object | undefined;
  #call: OpenCall | undefined;

  constructor(promise: object, call: OpenCall) {
    this.#promise = promise;
    this.#call = call;
    if (pending.length === 0) setImmediate(watchPending);
    else if (pending.length >= MAX_PENDING) watchPending();
    pending.push(this);
  }

  get taken(): boolean {
    return this.#call === undefined;
  }

  /** What is taken stays in line until the end of the turn, and holds nothing meanwhile. */
  take(): void {
    this.#promise = undefined;
    this.#call = undefined;
  }

  /** @internal Hands the promise over to the garbage collector's watch. */
  watch(): void {
    const promise = this.#promise;
    this.#promise = undefined;
    if (promise !== undefined) {
      openCalls.abandonWith(promise, { lastActivityMs: 0, abandon: () => this.#call?.abandon() });
    }
  }
}

function watchPending(): void {
  const claims = pending;
  pending = [];
  for (const claim of claims) guard('watching for garbage', () => claim.watch());
}
