import { guard } from './model-guard.ts';
import { type OpenCall, openCalls } from './open-calls.ts';

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
