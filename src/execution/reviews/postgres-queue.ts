import { randomUUID } from 'node:crypto';
import { ObservatoryError } from '../../errors.ts';
import {
  type Database,
  nameOfDatabase,
  openDatabase,
  type PostgresConnection,
  type Queryable,
  toObservatoryError,
} from '../../postgres/index.ts';
import { checkId, checkLimit, checkMs, checkName, checkStatus, jsonOf } from './checks.ts';
import { plain, submittedValues, toClaimedReview, toOutcome, toReview, toReviewInFull } from './row.ts';
import { CLAIM, DECIDE, EXPIRE, GET, INSERT, listStatement, OUTCOME, SUBMITTED_COLUMNS } from './sql.ts';
import type {
  ClaimedReview,
  Review,
  ReviewClaim,
  ReviewInFull,
  ReviewOutcome,
  ReviewQueue,
  ReviewStatus,
  ReviewSubmission,
} from './types.ts';

const DAY_MS = 86_400_000;
const DEFAULT_LEASE_MS = 600_000;
const MAX_LISTED = 1_000;
const STATEMENT_TIMEOUT_MS = 30_000;

/** Options of a {@link PostgresReviewQueue}. */
export interface PostgresReviewQueueOptions {
  /** Connection string, or an open pool, client or PGlite that stays yours. Its schema is that of `migrate()`. */
  readonly connection: PostgresConnection;
  /** A review that is undecided after this many milliseconds expires. @defaultValue 86400000, a day */
  readonly expiresInMs?: number | undefined;
}

/** Which review to claim, and for whom. */
export interface ClaimOptions {
  /** Who decides; the decision has to come from the same. */
  readonly worker: string;
  /** One review, instead of the oldest. */
  readonly id?: string | undefined;
  /** Only reviews of this tool. */
  readonly toolName?: string | undefined;
  /** After this many milliseconds another worker may claim it. @defaultValue 600000, ten minutes */
  readonly leaseMs?: number | undefined;
}

/**
 * The built-in queue of reviews, the table `mcp_reviews`. Any number of processes may submit, claim and decide at once:
 * a review is with one worker at a time, a worker that is killed loses nothing, and one that comes back after its
 * review was given to another decides nothing.
 *
 * Errors of all methods: ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`;
 * `INVALID_OPTION` for an argument that cannot be used.
 */
export class PostgresReviewQueue implements ReviewQueue, AsyncDisposable {
  readonly #connection: PostgresConnection;
  readonly #expiresInMs: number;
  #own: Promise<Database> | undefined;

  constructor(options: PostgresReviewQueueOptions) {
    this.#connection = options.connection;
    this.#expiresInMs = checkMs('expiresInMs', options.expiresInMs, DAY_MS);
  }

  /** @throws ObservatoryError `INVALID_INPUT` too, when the content is no JSON value or larger than a mebibyte. */
  async submit(review: ReviewSubmission): Promise<string> {
    const id = randomUUID();
    const expiresInMs = checkMs('expiresInMs', review.expiresInMs, this.#expiresInMs);
    const values = submittedValues(id, review, jsonOf('content', review.content));
    await this.#query(INSERT, [...SUBMITTED_COLUMNS.map((column) => values[column]), String(expiresInMs)]);
    return id;
  }

  /** Claims the oldest review that is free, or the one named. @returns `undefined` when there is none to claim. */
  async claim(options: ClaimOptions): Promise<ClaimedReview | undefined> {
    const worker = checkName('worker', options.worker);
    const leaseMs = checkMs('leaseMs', options.leaseMs, DEFAULT_LEASE_MS);
    const id = options.id === undefined ? null : checkId(options.id);
    const rows = await this.#query(CLAIM, [worker, String(leaseMs), plain(options.toolName), id]);
    return rows[0] === undefined ? undefined : toClaimedReview(rows[0]);
  }

  /**
   * Approves a claimed review, with the answer to give where there is one. Approving again what the same claim has
   * approved does nothing, so an approval may be sent again when it is not known whether it came through.
   * @throws ObservatoryError `REVIEW_CONFLICT` when the claim no longer holds, `REVIEW_NOT_FOUND`, `INVALID_INPUT`.
   */
  approve(
    claim: ReviewClaim,
    decision: { readonly response?: unknown; readonly note?: string | undefined } = {},
  ): Promise<ReviewInFull> {
    const response = decision.response === undefined ? null : jsonOf('response', decision.response);
    return this.#decide(claim, 'approved', decision.note, response);
  }

  /** Rejects a claimed review. As for `approve`. */
  reject(claim: ReviewClaim, decision: { readonly note?: string | undefined } = {}): Promise<ReviewInFull> {
    return this.#decide(claim, 'rejected', decision.note, null);
  }

  /** Marks the reviews whose time is over. None of them can be claimed or decided before this either. @returns how many. */
  async expire(): Promise<number> {
    const rows = await this.#query(EXPIRE, []);
    return Number(rows[0]?.expired);
  }

  /** The newest reviews first. @param options.limit at most 1000. @defaultValue 100 */
  async list(
    options: {
      readonly status?: ReviewStatus | undefined;
      readonly toolName?: string | undefined;
      readonly limit?: number | undefined;
    } = {},
  ): Promise<Review[]> {
    const limit = checkLimit(options.limit ?? 100, MAX_LISTED);
    const rows = await this.#query(listStatement(checkStatus(options.status)), [
      plain(options.toolName),
      String(limit),
    ]);
    return rows.map(toReview);
  }

  /** One review with its content. @throws ObservatoryError `REVIEW_NOT_FOUND` */
  async get(id: string): Promise<ReviewInFull> {
    const rows = await this.#query(GET, [checkId(id)]);
    if (rows[0] === undefined) throw notFound(id);
    return toReviewInFull(rows[0]);
  }

  /** What became of a review, for whoever submitted it. @throws ObservatoryError `REVIEW_NOT_FOUND` */
  async outcome(id: string): Promise<ReviewOutcome> {
    const rows = await this.#query(OUTCOME, [checkId(id)]);
    if (rows[0] === undefined) throw notFound(id);
    return toOutcome(rows[0]);
  }

  /** Closes the connections that this queue has opened. Calling it again does nothing. */
  async close(): Promise<void> {
    await (await this.#own?.catch(() => undefined))?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #decide(
    claim: ReviewClaim,
    status: 'approved' | 'rejected',
    note: string | undefined,
    response: string | null,
  ): Promise<ReviewInFull> {
    const id = checkId(claim.id);
    const worker = checkName('claimedBy', claim.claimedBy);
    const rows = await this.#query(DECIDE, [id, String(claim.token), worker, status, plain(note), response]);
    if (rows[0] !== undefined) return toReviewInFull(rows[0]);
    const found = await this.get(id);
    const isOurs = found.token === claim.token && found.decidedBy === worker;
    if (isOurs && found.status === status) return found;
    throw conflict(found, claim);
  }

  async #query(
    text: string,
    values: readonly (string | null)[],
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const db = await this.#database();
    try {
      return (await db.query(text, values)).rows;
    } catch (error) {
      throw toObservatoryError(error, nameOfDatabase(db), 'mcp_reviews');
    }
  }

  #database(): Queryable | Promise<Queryable> {
    if (typeof this.#connection !== 'string') return this.#connection;
    this.#own ??= openDatabase({ url: this.#connection, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
    return this.#own;
  }
}

function notFound(id: string): ObservatoryError {
  return new ObservatoryError('REVIEW_NOT_FOUND', `There is no review ${id}`);
}

function conflict(found: ReviewInFull, claim: ReviewClaim): ObservatoryError {
  const { id, status, claimedBy, decidedBy, expiresAt } = found;
  const how = {
    pending: 'is not claimed',
    claimed: `is claimed by '${claimedBy}' with token ${found.token}`,
    approved: `was approved by '${decidedBy}'`,
    rejected: `was rejected by '${decidedBy}'`,
    expired: `expired at ${expiresAt}`,
  }[status];
  return new ObservatoryError(
    'REVIEW_CONFLICT',
    `The review ${id} ${how}; the claim of '${claim.claimedBy}' with token ${claim.token} cannot decide it`,
  );
}
