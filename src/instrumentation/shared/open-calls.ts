import { guard } from './guard.ts';

/** A call whose answer, or the stream of it, the application has not read to its end. */
export interface OpenCall {
  /** Time of the last chunk, in `performance.now()` milliseconds. */
  readonly lastActivityMs: number;
  /** Ends the span of an answer that nobody reads. */
  abandon(): void;
}

const SWEEP_EVERY_MS = 30_000;
/** Most open streams; beyond it the oldest one ends its span. So many calls without an answer are known, too. */
const MAX_OPEN = 10_000;

/**
 * Makes every stream end its span: at garbage collection, after an idle timeout, when too many are open, or at
 * shutdown. It holds calls, never their streams, so it keeps no stream alive.
 */
export class OpenCalls {
  readonly #open = new Map<OpenCall, number>();
  /** Calls that have no answer yet, or whose answer nobody has asked for. */
  readonly #begun = new Set<OpenCall>();
  readonly #collected = new FinalizationRegistry<OpenCall>((call) => call.abandon());
  readonly #others = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** Ends the call with the others if it has no answer then: its time is bounded by what makes it. */
  begin(call: OpenCall): void {
    this.#begun.add(call);
    if (this.#begun.size > MAX_OPEN) this.#begun.delete(this.#begun.values().next().value as OpenCall);
  }

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
    this.#begun.delete(call);
    if (!this.#open.delete(call) || this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Registers something else that {@link abandonAll} ends. `end` must not throw. */
  alsoEnd(end: () => void): void {
    this.#others.add(end);
  }

  /** Ends all open spans, before a final flush. */
  abandonAll(): void {
    for (const call of [...this.#open.keys(), ...this.#begun]) call.abandon();
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

/** Most pending claims before they are watched at once: a program may never reach its event loop. */
const MAX_PENDING = 1000;
let pending: Claim[] = [];

/**
 * Whether a promise's result was asked for, in any way. A promise that is collected before that abandons its call.
 * Watching for collection is expensive and nearly every promise is awaited where it is made, so only promises that are
 * unclaimed at the end of the turn are watched.
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

  /** A taken claim stays in the list until the end of the turn and holds nothing meanwhile. */
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
