import { randomUUID } from 'node:crypto';
import { ObservatoryError } from '../../base/index.ts';
import type {
  CallLedger,
  EarlierEffect,
  LedgerAnswer,
  LedgerOutcome,
  LedgerRequest,
  LedgerTake,
  LedgerWitness,
} from './types.ts';

interface Entry {
  readonly id: string;
  readonly token: string;
  readonly request: LedgerRequest;
  readonly takes: readonly LedgerTake[];
  status: 'reserved' | 'done' | 'failed' | 'unknown';
  /** When it was settled, else reserved. */
  at: number;
  by: string | null;
  quietUntil: number;
}

interface Account {
  units: bigint;
  touched: number;
}

/** How the names of accounts begin that are of no run and no day. */
export const LASTING = '["ever"';

/** Most accounts, and most calls that are open or whose effect is done. What is full takes nothing more. */
const MAX_KEPT = 100_000;
/** A run that makes no call for so long is over, and so is a day. */
const IDLE_MS = 86_400_000;

/** The ledger of one process, for as long as it lives. */
export class MemoryLedger implements CallLedger {
  readonly #accounts = new Map<string, Account>();
  readonly #calls = new Map<string, Entry>();
  /** Calls that are reserved, done or unknown, by their effect. */
  readonly #effects = new Map<string, Entry>();
  readonly #now: () => number;

  /** @param now milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async find(key: string): Promise<EarlierEffect | undefined> {
    return this.#find(key);
  }

  #find(key: string): EarlierEffect | undefined {
    const entry = this.#effects.get(key);
    if (entry === undefined) return undefined;
    const { id, status, at, by, request } = entry;
    const open = entry.quietUntil > this.#now() ? 'running' : 'unknown';
    const state = status === 'reserved' ? open : status === 'unknown' ? 'unknown' : 'done';
    return { state, id, digest: request.digest ?? null, at: new Date(at).toISOString(), by };
  }

  async reserve(request: LedgerRequest): Promise<LedgerAnswer> {
    const { key } = request;
    const now = this.#now();
    const earlier = key === undefined ? undefined : this.#find(key);
    if (earlier !== undefined) return earlier;
    const day = new Date(now).toISOString().slice(0, 10);
    const takes = request.takes.map((take) =>
      take.daily ? { ...take, account: `${take.account} ${day}` } : take,
    );
    const refused = takes.findIndex(({ account, units, at_most, at_least }) => {
      const booked = this.#accounts.get(account)?.units ?? 0n;
      const isOver = at_most !== undefined && booked + BigInt(units) > BigInt(at_most);
      return isOver || (at_least !== undefined && booked < BigInt(at_least));
    });
    if (refused !== -1) return { state: 'refused', take: refused };
    this.#makeRoom(now);
    const [id, token] = [randomUUID(), randomUUID()];
    const quietUntil = now + request.quiet_ms;
    const entry: Entry = { id, token, request, takes, status: 'reserved', at: now, by: null, quietUntil };
    this.#calls.set(id, entry);
    if (key !== undefined) this.#effects.set(key, entry);
    this.#book(entry, 1n, ({ on }) => on === 'reserve');
    return { state: 'taken', id, token };
  }

  async settle(id: string, token: string, outcome: LedgerOutcome): Promise<boolean> {
    const entry = this.#calls.get(id);
    if (entry === undefined || entry.token !== token) return false;
    const { key, quiet_ms } = entry.request;
    if (outcome === 'running') {
      if (entry.status === 'reserved') entry.quietUntil = this.#now() + quiet_ms;
      return entry.status === 'reserved';
    }
    if (entry.status === 'reserved' || entry.status === 'unknown') {
      if (entry.status !== outcome) this.#move(entry, outcome, 'call');
      return true;
    }
    const isFree = entry.status === 'failed' && (key === undefined || !this.#effects.has(key));
    if (!isFree || entry.by === 'call' || outcome !== 'done') {
      return entry.status === (outcome === 'not_made' ? 'failed' : outcome);
    }
    this.#book(entry, 1n, ({ on, back }) => on === 'reserve' && back === 'failed');
    this.#move(entry, outcome, 'call');
    return true;
  }

  async resolve(
    id: string,
    outcome: 'done' | 'failed',
    witness: LedgerWitness,
  ): Promise<EarlierEffect | undefined> {
    const entry = this.#calls.get(id);
    const key = entry?.request.key;
    if (entry === undefined || key === undefined) return undefined;
    const isOver = entry.quietUntil <= this.#now();
    const isUnknown = entry.status === 'unknown' || (entry.status === 'reserved' && isOver);
    const counts = 'review' in witness || outcome === 'done' || isOver;
    const by = 'review' in witness ? `review:${witness.review}` : `reconcile:${witness.tool}`;
    if (isUnknown && counts) this.#move(entry, outcome, by);
    return this.#find(key);
  }

  #move(entry: Entry, outcome: Exclude<LedgerOutcome, 'running'>, by: string): void {
    const now = this.#now();
    const { key, quiet_ms } = entry.request;
    if (outcome === 'done') this.#book(entry, 1n, ({ on }) => on === 'done');
    if (outcome === 'failed') this.#book(entry, -1n, ({ on, back }) => on === 'reserve' && back === 'failed');
    if (outcome === 'not_made') this.#book(entry, -1n, ({ on }) => on === 'reserve');
    entry.status = outcome === 'not_made' ? 'failed' : outcome;
    entry.at = now;
    entry.by = by;
    if (outcome === 'unknown') entry.quietUntil = now + quiet_ms;
    const isFailed = entry.status === 'failed';
    if (key !== undefined && isFailed) this.#effects.delete(key);
    if (key !== undefined && outcome === 'done') this.#effects.set(key, entry);
    // One that somebody else calls failed is kept: its caller may know better.
    if (isFailed ? by === 'call' : key === undefined && outcome === 'done') this.#calls.delete(entry.id);
  }

  #book({ takes }: Entry, sign: bigint, isMeant: (take: LedgerTake) => boolean): void {
    for (const take of takes) {
      if (!isMeant(take)) continue;
      const known = this.#accounts.get(take.account);
      // One that was forgotten meanwhile has nothing to give back.
      if (known === undefined && sign < 0n) continue;
      const account = known ?? { units: 0n, touched: 0 };
      account.units += sign * BigInt(take.units);
      account.touched = this.#now();
      // The last one touched is the last one in the map.
      this.#accounts.delete(take.account);
      this.#accounts.set(take.account, account);
    }
  }

  /** @throws ObservatoryError `INVALID_INPUT` where everything that is kept may still count. */
  #makeRoom(now: number): void {
    for (const [name, { touched }] of this.#accounts) {
      if (this.#accounts.size < MAX_KEPT || now - touched < IDLE_MS) break;
      if (!name.startsWith(LASTING)) this.#accounts.delete(name);
    }
    if (this.#accounts.size < MAX_KEPT && this.#calls.size < MAX_KEPT) return;
    throw new ObservatoryError(
      'INVALID_INPUT',
      `The ledger of this process holds ${MAX_KEPT} calls or accounts; keep it in Postgres`,
    );
  }
}
