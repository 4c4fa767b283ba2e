/**
 * The ledger of calls: what they took from budgets, and which effects are done. A call is *reserved* before it is made and
 * *settled* when its outcome is known. What nobody settles is unknown, and keeps what it took.
 */

/** What a call takes from an account, or what has to be true of the account. */
export interface LedgerTake {
  readonly account: string;
  /** Whether the ledger adds the day, in UTC and by its own clock. */
  readonly daily: boolean;
  /** Billionths, in digits. */
  readonly units: string;
  /** Most that may be on the account, with these units; billionths, in digits. */
  readonly at_most?: string | undefined;
  /** Least that has to be on the account before. */
  readonly at_least?: string | undefined;
  /** When the units are booked: before the call, or once it is done. */
  readonly on: 'reserve' | 'done';
  /** What gives units back that were booked before the call: a failure too, or only that it was not made. */
  readonly back: 'failed' | 'not_made';
}

/** A call to reserve. The names are those of the database's function. */
export interface LedgerRequest {
  readonly caller: string;
  readonly server: string;
  readonly tool: string;
  /** SHA-256 of the effect with its arguments, hex; absent for a call that is only counted. */
  readonly key?: string | undefined;
  /** The effect as the policy names it. */
  readonly effect?: string | undefined;
  /** Digest of the arguments. */
  readonly digest?: string | undefined;
  /** How long a call may still take effect after it was last heard of, in milliseconds. */
  readonly quiet_ms: number;
  readonly takes: readonly LedgerTake[];
}

/** An effect that cannot be done now. */
export interface EarlierEffect {
  /** `running`: its call is under way. `unknown`: it may have happened or not. */
  readonly state: 'done' | 'running' | 'unknown';
  /** Of its call. */
  readonly id: string;
  readonly digest: string | null;
  /** When it was settled, else reserved; ISO 8601. */
  readonly at: string;
  /** Who settled it: `call`, `reconcile:TOOL`, or the person who decided. */
  readonly by: string | null;
}

export type LedgerAnswer =
  | { readonly state: 'taken'; readonly id: string; readonly token: string }
  /** Nothing was taken. @property take position of the one that was refused. */
  | { readonly state: 'refused'; readonly take: number }
  | EarlierEffect;

/** `failed`: it had no effect. `not_made`: nothing was sent. `running`: it still goes on. */
export type LedgerOutcome = 'done' | 'failed' | 'unknown' | 'not_made' | 'running';

/** Who decides an unknown effect: a person, by the id of their decision, or a tool. */
export type LedgerWitness = { readonly review: string } | { readonly tool: string };

/**
 * Keeps account of calls. `MemoryLedger` does it in a process, `PostgresLedger` for any number of processes. A method that
 * rejects leaves the call denied, or its outcome unknown.
 */
export interface CallLedger {
  /** How an effect stands; undefined where it may be done. */
  find(key: string): Promise<EarlierEffect | undefined>;
  /** Takes all that the call needs, or nothing. Of any number of callers one gets an effect. */
  reserve(request: LedgerRequest): Promise<LedgerAnswer>;
  /** @returns false where the outcome contradicts what was said of the call meanwhile. */
  settle(id: string, token: string, outcome: LedgerOutcome): Promise<boolean>;
  /**
   * Decides the outcome of an unknown effect. The word of a tool that nothing happened counts only when the call cannot take
   * effect any more.
   * @returns how it stands then; undefined where it may be done again.
   */
  resolve(id: string, outcome: 'done' | 'failed', witness: LedgerWitness): Promise<EarlierEffect | undefined>;
}
