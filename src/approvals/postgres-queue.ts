import { randomUUID } from 'node:crypto';
import { trace } from '@opentelemetry/api';
import {
  checkOptions,
  either,
  having,
  invalidOption,
  kinds,
  ObservatoryError,
  type OptionKinds,
  required,
  secret,
} from '../base/index.ts';
import { canonicalJson } from '../json/index.ts';
import { spanIdToUuid, traceIdToUuid } from '../postgres/index.ts';
import {
  APPROVAL_SCOPES,
  type ApprovalAnswer,
  type ApprovalQueue,
  type ApprovalRequest,
  type ApprovalScope,
} from './approval.ts';
import { APPROVAL_REASON, approvalParts, isApproval } from './approval-parts.ts';
import { checkDate, checkId, checkLimit, checkMs, checkName, checkStatus, toJson } from './checks.ts';
import { ReviewDatabase } from './review-database.ts';
import {
  anotherCall,
  decidedOtherwise,
  nothingToRevoke,
  reviewConflict,
  reviewNotFound,
  whyNot,
} from './review-errors.ts';
import {
  numberText,
  plain,
  submittedValues,
  toApprovalAnswer,
  toClaimedReview,
  toOutcome,
  toReview,
  toReviewInFull,
} from './row.ts';
import {
  APPROVED_OF,
  CLAIM,
  DECIDE,
  EXPIRE,
  GET,
  listStatement,
  OUTCOMES,
  PRUNABLE,
  PRUNE,
  PRUNED_AT_ONCE,
  RECORD,
  REVOKE,
  SUBMIT,
  SUBMITTED_COLUMNS,
  TAKE_APPROVAL,
} from './sql.ts';
import type {
  ClaimedReview,
  ClaimOptions,
  DecisionNow,
  FinalOutcome,
  PostgresReviewQueueOptions,
  Review,
  ReviewClaim,
  ReviewInFull,
  ReviewOutcome,
  ReviewQueue,
  ReviewStatus,
  ReviewSubmission,
} from './types.ts';
import { inWaitSpan } from './wait-span.ts';
import { type ReviewWaitOptions, ReviewWaits } from './waits.ts';

const DAY_MS = 86_400_000;
const DEFAULT_LEASE_MS = 600_000;
const MAX_LISTED = 1_000;
/** Node's maximum timer. */
const MAX_TIMEOUT_MS = 2_147_483_647;

const OPTIONS: OptionKinds<PostgresReviewQueueOptions> = {
  connection: secret(
    required(
      either(
        { ...kinds.string, expected: 'a connection string' },
        having('an object with a method query()', 'query'),
      ),
    ),
  ),
  expiresInMs: kinds.number,
};

/**
 * The built-in review queue, on the table `mcp_reviews`. Any number of processes may submit, claim and decide
 * concurrently: a review is claimed by one worker at a time, a killed worker loses nothing, and a stale claim cannot
 * decide.
 *
 * Errors of all methods: ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`;
 * `INVALID_OPTION` for an argument that cannot be used.
 */
export class PostgresReviewQueue implements ReviewQueue, ApprovalQueue, AsyncDisposable {
  /** What it was opened with. */
  readonly connection: PostgresReviewQueueOptions['connection'];
  readonly #db: ReviewDatabase;
  readonly #expiresInMs: number;
  readonly #waits = new ReviewWaits((ids) => this.#outcomes(ids));

  constructor(options: PostgresReviewQueueOptions) {
    checkOptions(options, OPTIONS, 'PostgresReviewQueue');
    this.connection = options.connection;
    this.#db = new ReviewDatabase(options.connection);
    this.#expiresInMs = checkMs('expiresInMs', options.expiresInMs, DAY_MS);
  }

  /** @throws ObservatoryError `INVALID_INPUT` too, when the content is not JSON or exceeds 1 MiB. */
  async submit(review: ReviewSubmission): Promise<string> {
    const id = randomUUID();
    const expiresInMs = checkMs('expiresInMs', review.expiresInMs, this.#expiresInMs);
    const values = submittedValues(id, review, toJson('content', review.content));
    await this.#db.query(SUBMIT, [...SUBMITTED_COLUMNS.map((column) => values[column]), String(expiresInMs)]);
    return id;
  }

  /**
   * Takes the approval of a gated call, or submits a review that asks for one: for `approvals` of `PolicyGate`. Of any
   * number of processes one takes an approval for one call, once; it is used up even if that process dies before its call.
   */
  async takeApproval(request: ApprovalRequest): Promise<ApprovalAnswer> {
    const { usableMs, sessionId, sessionMs, definitionMs } = request;
    const { traceId = '', spanId = '' } = trace.getActiveSpan()?.spanContext() ?? {};
    const [row] = await this.#db.query(TAKE_APPROVAL, [
      ...approvalParts(request),
      plain(sessionId),
      String(usableMs),
      numberText(sessionMs),
      numberText(definitionMs),
      String(this.#expiresInMs),
      traceIdToUuid(traceId) ?? null,
      spanIdToUuid(spanId) ?? null,
    ]);
    return toApprovalAnswer(row ?? {});
  }

  /** Claims the oldest free review, or the given one. @returns `undefined` when there is none. */
  async claim(options: ClaimOptions): Promise<ClaimedReview | undefined> {
    const worker = checkName('worker', options.worker);
    const leaseMs = checkMs('leaseMs', options.leaseMs, DEFAULT_LEASE_MS);
    const id = options.id === undefined ? null : checkId(options.id);
    const rows = await this.#db.query(CLAIM, [worker, String(leaseMs), plain(options.toolName), id]);
    return rows[0] === undefined ? undefined : toClaimedReview(rows[0]);
  }

  /**
   * Approves a claimed review, optionally with an answer. Idempotent per claim, so an approval of unknown outcome may
   * be repeated with the same response and note. That of a gated call may go further than one call; see `ApprovalScope`.
   * @throws ObservatoryError `REVIEW_CONFLICT` when the claim no longer holds or was used for another decision,
   *   `REVIEW_NOT_FOUND`, `INVALID_INPUT`.
   */
  async approve(
    claim: ReviewClaim,
    decision: {
      readonly response?: unknown;
      readonly note?: string | undefined;
      readonly scope?: ApprovalScope | undefined;
    } = {},
  ): Promise<ReviewInFull> {
    const { note, scope = 'once' } = decision;
    const response = decision.response === undefined ? null : toJson('response', decision.response);
    await this.checkApproval(claim.id, scope);
    return this.#decide(claim, 'approved', note, response, scope === 'once' ? null : scope);
  }

  /**
   * Ends an approval that can still be used: no call goes through with it any more.
   * @throws ObservatoryError `REVIEW_CONFLICT` when there is nothing to end, `REVIEW_NOT_FOUND`.
   */
  async revoke(
    id: string,
    decision: { readonly by: string; readonly note?: string | undefined },
  ): Promise<void> {
    const uuid = checkId(id);
    const rows = await this.#db.query(REVOKE, [uuid, checkName('by', decision.by), plain(decision.note)]);
    if (rows[0] === undefined) throw nothingToRevoke(await this.get(uuid));
  }

  /**
   * Whether this can be approved, in this scope.
   * @throws ObservatoryError `INVALID_OPTION` for a scope that is not offered, `REVIEW_CONFLICT` where the content shows
   *   another call than would be approved.
   */
  async checkApproval(id: string, scope: ApprovalScope = 'once'): Promise<void> {
    const [found] = await this.#db.query(APPROVED_OF, [checkId(id)]);
    if (found === undefined) throw reviewNotFound(id);
    if (found.reason === APPROVAL_REASON && !isApproval(found.content, found.fingerprint)) {
      throw anotherCall(id);
    }
    if (scope === 'once' || found[scope] === true) return;
    const scopes = APPROVAL_SCOPES.filter((one) => one === 'once' || found[one] === true);
    throw invalidOption('the scope of this approval', scopes.join(' or '), scope);
  }

  /** Rejects a claimed review, like `approve`. */
  reject(claim: ReviewClaim, decision: { readonly note?: string | undefined } = {}): Promise<ReviewInFull> {
    return this.#decide(claim, 'rejected', decision.note, null, null);
  }

  /**
   * Stores a decision about the definition of a tool, which waits elsewhere, under an id that is derived from it.
   * @throws ObservatoryError `REVIEW_CONFLICT` when somebody has decided it already.
   */
  async record(
    id: string,
    review: Pick<ReviewSubmission, 'toolName' | 'traceId' | 'content'>,
    decision: DecisionNow,
  ): Promise<void> {
    const uuid = checkId(id);
    const by = checkName('by', decision.by);
    const content = toJson('content', review.content);
    const status = decision.how === 'approve' ? 'approved' : 'rejected';
    const traceId = traceIdToUuid(review.traceId ?? '') ?? null;
    const values = [uuid, status, plain(review.toolName), traceId, content, by, plain(decision.note)];
    const rows = await this.#db.query(RECORD, values);
    if (rows[0] === undefined) throw new ObservatoryError('REVIEW_CONFLICT', whyNot(await this.get(uuid)));
  }

  /** Marks overdue reviews as expired. They cannot be claimed or decided before that either. @returns how many. */
  async expire(): Promise<number> {
    const rows = await this.#db.query(EXPIRE, []);
    return Number(rows[0]?.expired);
  }

  /** Lists reviews, newest first. @param options.limit at most 1000. @defaultValue 100 */
  async list(
    options: {
      readonly status?: ReviewStatus | undefined;
      readonly toolName?: string | undefined;
      readonly limit?: number | undefined;
    } = {},
  ): Promise<Review[]> {
    const limit = checkLimit(options.limit ?? 100, MAX_LISTED);
    const rows = await this.#db.query(listStatement(checkStatus(options.status)), [
      plain(options.toolName),
      String(limit),
    ]);
    return rows.map(toReview);
  }

  /** One review with its content. @throws ObservatoryError `REVIEW_NOT_FOUND` */
  async get(id: string): Promise<ReviewInFull> {
    const rows = await this.#db.query(GET, [checkId(id)]);
    if (rows[0] === undefined) throw reviewNotFound(id);
    return toReviewInFull(rows[0]);
  }

  /** The outcome of a review, for its submitter. @throws ObservatoryError `REVIEW_NOT_FOUND` */
  async outcome(id: string): Promise<ReviewOutcome> {
    const uuid = checkId(id);
    const outcome = (await this.#outcomes([uuid])).get(uuid);
    if (outcome === undefined) throw reviewNotFound(id);
    return outcome;
  }

  /**
   * Waits until a review is approved, rejected or expired. It polls the table, first after 0.1 s and then every 2 s,
   * with one statement for all waiters, and continues after connection failures. The wait is a span, `review_wait`.
   * @throws ObservatoryError `REVIEW_UNDECIDED` on timeout, abort or close of the queue, `REVIEW_NOT_FOUND`.
   */
  async waitFor(id: string, options: ReviewWaitOptions = {}): Promise<FinalOutcome> {
    const { timeoutMs, signal } = options;
    if (timeoutMs !== undefined) checkMs('timeoutMs', timeoutMs, timeoutMs, MAX_TIMEOUT_MS);
    const uuid = checkId(id);
    return inWaitSpan(uuid, () => this.#waits.wait(uuid, { timeoutMs, signal }));
  }

  /**
   * Deletes reviews approved, rejected or expired before a time; open ones stay. Overdue reviews are marked as expired
   * first. Requires ownership of the table.
   * @param isDryRun only count them.
   * @returns how many.
   */
  async prune(before: Date, isDryRun = false): Promise<number> {
    const cutoff = checkDate('before', before);
    if (isDryRun) return Number((await this.#db.query(PRUNABLE, [cutoff]))[0]?.reviews);
    await this.expire();
    for (let total = 0; ; ) {
      const deleted = Number((await this.#db.query(PRUNE, [cutoff]))[0]?.reviews);
      total += deleted;
      if (deleted < PRUNED_AT_ONCE) return total;
    }
  }

  /** Ends all waits and closes the connections this queue opened. Idempotent. */
  async close(): Promise<void> {
    this.#waits.close();
    await this.#db.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #decide(
    claim: ReviewClaim,
    status: 'approved' | 'rejected',
    note: string | undefined,
    response: string | null,
    scope: ApprovalScope | null,
  ): Promise<ReviewInFull> {
    const id = checkId(claim.id);
    const worker = checkName('claimedBy', claim.claimedBy);
    const rows = await this.#db.query(DECIDE, [
      id,
      String(claim.token),
      worker,
      status,
      plain(note),
      response,
      scope,
    ]);
    if (rows[0] !== undefined) return toReviewInFull(rows[0]);
    const found = await this.get(id);
    const isOurs = found.token === claim.token && found.decidedBy === worker;
    if (!isOurs || found.status !== status) throw reviewConflict(found, claim);
    const repeated = response === null ? null : (JSON.parse(response) as unknown);
    const isSame = canonicalJson(found.response ?? null) === canonicalJson(repeated);
    if (isSame && found.note === plain(note) && found.scope === scope) return found;
    throw decidedOtherwise(found);
  }

  async #outcomes(ids: readonly string[]): Promise<ReadonlyMap<string, ReviewOutcome>> {
    const rows = await this.#db.query(OUTCOMES, [`{${ids.join(',')}}`]);
    return new Map(rows.map((row) => [String(row.review_id), toOutcome(row)]));
  }
}
