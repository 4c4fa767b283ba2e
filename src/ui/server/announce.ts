/** Tells a webhook which calls wait for a person, and which saved views are above their thresholds. */
import { createHmac } from 'node:crypto';
import { diag } from '@opentelemetry/api';
import { errorMessage, invalidOption, withoutTracing } from '../../base/index.ts';
import type { Queryable } from '../../postgres/index.ts';
import {
  type ComparedView,
  compareViews,
  listViews,
  noteViewTold,
  readWaiting,
  type WaitingDetail,
} from '../../runs/index.ts';

const LOOK_EVERY_MS = 1000;
const TIMEOUT_MS = 10_000;
const AT_ONCE = 10;
const NOT_TOLD = 'the webhook could not be told and is tried again: ';

interface Source {
  readonly id: string;
  isOpen(): Promise<boolean>;
}

/** Where requests for an approval and crossed thresholds are announced. */
export interface WebhookOptions {
  /** Takes a POST of JSON; any status of 200 to 299 is taken as received. */
  readonly url: string;
  /** Key of the signature that each request carries. @defaultValue none: no signature */
  readonly secret?: string | undefined;
}

/** Why the webhook was not told, and when that was tried. */
export interface WebhookProblem {
  readonly message: string;
  readonly atMs: number;
}

/** @throws ObservatoryError `INVALID_OPTION` if the address is not an http or https URL. */
export function checkWebhook(webhook: WebhookOptions | undefined): void {
  if (webhook === undefined) return;
  if (/^https?:\/\//u.test(webhook.url) && URL.canParse(webhook.url)) return;
  throw invalidOption('the webhook', 'an http or https URL', webhook.url);
}

const TAKE = `SELECT one::text AS id FROM mcp_approvals_announce(${AT_ONCE}) AS one`;

const DONE = 'SELECT mcp_approvals_announced($1::text::uuid)';

/**
 * Announces each request for an approval at least once, while it waits. Arguments are not sent: they may hold secrets.
 * The page shows them.
 */
export class Announcer {
  readonly #db: Queryable;
  readonly #webhook: WebhookOptions;
  readonly #page: string;
  readonly #refresh: () => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  readonly #stop = new AbortController();
  #working: Promise<void> | undefined;
  #problem: WebhookProblem | undefined;
  /** What the problem is of, and whether it is still there; undefined for a look as a whole. */
  #source: Source | undefined;

  /**
   * @param page address of the page, without its token.
   * @param refresh adds up what has arrived; thresholds are compared with that.
   */
  constructor(db: Queryable, webhook: WebhookOptions, page: string, refresh: () => Promise<void>) {
    this.#db = db;
    this.#webhook = webhook;
    this.#page = page;
    this.#refresh = refresh;
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS).unref();
  }

  /** What could not be told or compared at the last try, until it was or is gone, or something was told. */
  get problem(): WebhookProblem | undefined {
    return this.#problem;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort();
    await this.#working;
  }

  #look(): void {
    this.#working ??= withoutTracing(() => this.#announce())
      .catch((error: unknown) => this.#warn(errorMessage(error)))
      .finally(() => {
        this.#working = undefined;
      });
  }

  async #announce(): Promise<void> {
    await this.#announceCalls();
    for (const view of await compareViews(this.#db, this.#refresh)) {
      const { value, threshold, isOver, problem } = view;
      const source = { id: view.id, isOpen: () => this.#isKept(view.id) };
      if (problem !== undefined) this.#warn(problem, source, '');
      if (value === null || threshold === null || value > threshold === isOver) {
        if (problem === undefined && this.#source?.id === view.id) this.#problem = undefined;
        continue;
      }
      await this.#tell(toAlert(view, this.#page), () => noteViewTold(this.#db, view, !isOver), source);
    }
    if (this.#problem !== undefined && !(await this.#source?.isOpen())) this.#problem = undefined;
  }

  async #isKept(id: string): Promise<boolean> {
    return (await listViews(this.#db)).some((view) => view.id === id && view.measure !== null);
  }

  async #isWaiting(id: string): Promise<boolean> {
    const status = (await readWaiting(this.#db, id))?.status;
    return status === 'pending' || status === 'claimed';
  }

  async #announceCalls(): Promise<void> {
    const { rows } = await this.#db.query(TAKE);
    for (const { id } of rows) {
      const found = await readWaiting(this.#db, String(id));
      if (found === undefined) continue;
      const source = { id: String(id), isOpen: () => this.#isWaiting(String(id)) };
      await this.#tell(toMessage(found, this.#page), () => this.#db.query(DONE, [String(id)]), source);
    }
  }

  /** Sends a message and notes that it was taken; what fails is tried again later. */
  async #tell(message: object, note: () => Promise<unknown>, source: Source): Promise<void> {
    if (this.#stop.signal.aborted) return;
    try {
      await this.#send(message);
      await note();
      this.#problem = undefined;
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#warn(errorMessage(error), source);
    }
  }

  async #send(message: object): Promise<void> {
    const { url, secret } = this.#webhook;
    const body = JSON.stringify(message);
    const signature =
      secret === undefined ? undefined : createHmac('sha256', secret).update(body).digest('hex');
    const response = await fetch(url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        ...(signature === undefined ? {} : { 'x-observatory-signature': `sha256=${signature}` }),
      },
      redirect: 'manual',
      signal: AbortSignal.any([this.#stop.signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`it answered ${response.status}`);
  }

  /** The same problem once. */
  #warn(problem: string, source?: Source, what = NOT_TOLD): void {
    this.#source = source;
    const isTold = problem === this.#problem?.message;
    this.#problem = { message: problem, atMs: Date.now() };
    if (isTold) return;
    diag.warn(`mcp-observatory: ${what}${problem}`);
  }
}

function toMessage(row: WaitingDetail, page: string): object {
  const { id, tool, server, caller, ruleIds, message, argsDigest, scopes, run } = row;
  return {
    type: 'approval_requested',
    id,
    server,
    tool,
    caller,
    rule_ids: ruleIds,
    message,
    args_digest: argsDigest,
    args_bytes: row.contentBytes,
    scopes,
    trace_id: run,
    requested_at: new Date(row.createdMs).toISOString(),
    expires_at: new Date(row.expiresMs).toISOString(),
    page: `${page}#/waiting/${id}`,
  };
}

/** Says that a saved view went above its threshold, or is back. */
function toAlert({ name, address, measure, threshold, value, isOver }: ComparedView, page: string): object {
  return {
    type: isOver ? 'threshold_left' : 'threshold_crossed',
    view: name,
    filter: new URLSearchParams(address).get('q') ?? '',
    measure,
    threshold,
    value,
    hours: 24,
    page: `${page}#/runs?${address}`,
  };
}
