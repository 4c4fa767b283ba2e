import { guard } from './model-guard.ts';
import { type OpenCall, openCalls } from './open-calls.ts';

/** More than these at once and they are watched right away: a program may never reach its event loop. */
const MAX_PENDING = 1000;
const pending = new Set<Claim>();
let scheduled = false;

/**
 * Whether anybody has asked a promise for its result, in any way. A promise that is garbage before that abandons its
 * call. Watching for garbage is dear and nearly every promise is awaited where it is made, so only one that is not
 * claimed by the end of the turn is watched.
 */
export class Claim {
  taken = false;
  #promise: object | undefined;
  readonly #call: OpenCall;

  constructor(promise: object, call: OpenCall) {
    this.#promise = promise;
    this.#call = call;
    if (!scheduled) setImmediate(watchPending);
    scheduled = true;
    pending.add(this);
    if (pending.size >= MAX_PENDING) watchPending();
  }

  take(): void {
    if (this.taken) return;
    this.taken = true;
    this.#promise = undefined;
    pending.delete(this);
  }

  /** @internal Hands the promise over to the garbage collector's watch. */
  watch(): void {
    const promise = this.#promise;
    this.#promise = undefined;
    if (promise === undefined) return;
    openCalls.abandonWith(promise, {
      lastActivityMs: 0,
      abandon: () => {
        if (!this.taken) this.#call.abandon();
      },
    });
  }
}

function watchPending(): void {
  scheduled = false;
  for (const claim of pending) guard('watching for garbage', () => claim.watch());
  pending.clear();
}
