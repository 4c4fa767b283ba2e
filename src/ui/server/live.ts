import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { diag } from '@opentelemetry/api';
import { errorMessage, ObservatoryError } from '../../base/index.ts';
import { type Queryable, refreshRollups, refreshRuns } from '../../postgres/index.ts';
import { listWaitingTools } from '../../runs/index.ts';

const REFRESH_MS = 500;
/** Roll-ups by the hour are for views that nobody watches second by second. Those who ask after a pause get them fresh. */
const ROLLUP_MS = 15_000;
/** A turn that takes longer waits for a database that does not answer. */
const STUCK_MS = 5000;
const MAX_LISTENERS = 64;
const TRIES = 5;
const PAUSE_MS = 40;

/**
 * Keeps what the page shows fresh while somebody looks, and tells the pages (server-sent events) that runs, or what waits
 * for a person, have changed.
 * While the database is unreachable, each turn tries it again and tells the pages so; a beat in each turn tells them that
 * this process is alive.
 */
export class Live {
  readonly #db: Queryable;
  readonly #questions: Queryable;
  readonly #listeners = new Set<ServerResponse>();
  #timer: NodeJS.Timeout | undefined;
  #rolledUpAt = Number.NEGATIVE_INFINITY;
  #seen = '';
  #working: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isReadOnly = false;
  #began = 0;
  /** Why the database does not answer, while it does not. */
  #down: string | undefined;

  /** @param questions the database as the views ask it, so that what waits is looked for once for both. */
  constructor(db: Queryable, questions: Queryable = db) {
    this.#db = db;
    this.#questions = questions;
  }

  /** Adds a page; false when there are too many. */
  add(response: ServerResponse): boolean {
    if (this.#listeners.size >= MAX_LISTENERS) return false;
    this.#listeners.add(response);
    response.once('close', () => {
      this.#listeners.delete(response);
      if (this.#listeners.size === 0) this.#stop();
    });
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    // What changed between the loading of the page and now, or while it was not connected, would be missed.
    const state = this.#down === undefined ? eventText('changed', '') : eventText('down', this.#down);
    response.write(`retry: 1000\n\n${state}`);
    this.#timer ??= setInterval(() => {
      // A page that hears nothing takes this process for dead; one that was opened since knows of the database what it hears.
      if (this.#down === undefined) this.#tell('beat', '');
      else this.#tell('down', this.#down);
      if (this.#working === undefined) void this.refresh();
      else if (Date.now() - this.#began > STUCK_MS)
        this.#setDown(`It has not answered for ${STUCK_MS / 1000} s`);
    }, REFRESH_MS).unref();
    return true;
  }

  /** Whether somebody looks, so that what is new is added up twice a second. */
  get isWatched(): boolean {
    return this.#timer !== undefined;
  }

  /**
   * Adds up what has arrived until now. Never rejects. A turn under way may have looked before that: those who ask
   * meanwhile share the turn after it.
   */
  refresh(): Promise<void> {
    if (this.#working === undefined) return this.#turn();
    this.#next ??= this.#working.then(() => {
      this.#next = undefined;
      return this.#turn();
    });
    return this.#next;
  }

  #turn(): Promise<void> {
    if (this.#working === undefined) this.#began = Date.now();
    this.#working ??= this.#refresh()
      .then(() => this.#setDown(undefined))
      .catch((error: unknown) => this.#setDown(errorMessage(error)))
      .finally(() => {
        this.#working = undefined;
      });
    return this.#working;
  }

  async close(): Promise<void> {
    this.#stop();
    for (const response of this.#listeners) response.end();
    await (this.#next ?? this.#working);
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #refresh(): Promise<void> {
    if (!this.#isReadOnly) await this.#addUp();
    const { rows } = await this.#db.query(
      `SELECT coalesce(sum(runs), 0)::text || ' ' || coalesce(sum(spans), 0)::text AS state FROM mcp_runs_hourly
        WHERE hour > now() - interval '1 day'`,
    );
    const state = `${rows[0]?.state} ${await this.#waiting()} ${await this.#tools()}`;
    if (state !== this.#seen) this.#tell('changed', '');
    this.#seen = state;
  }

  /** Tells reviews from those of the last turn: one more, one fewer, one claimed; an approval that was used or ended. */
  async #waiting(): Promise<string> {
    const { rows } = await this.#db.query(
      `SELECT count(*)::text || ' ' || coalesce(sum(claim_token), 0)::text || ' ' || coalesce(max(created_at), 'epoch')::text AS state
        FROM mcp_reviews WHERE status IN ('pending', 'claimed') AND expires_at > now()
      UNION ALL SELECT count(*)::text || ' ' || coalesce(sum(a.uses), 0)::text FROM mcp_approvals a JOIN mcp_reviews r USING (review_id)
        WHERE a.used_at IS NULL AND a.ended_at IS NULL AND r.status = 'approved' AND r.scope IN ('session', 'definition')`,
    );
    return rows.map(({ state }) => String(state)).join(' ');
  }

  /** The tools that wait. A database that is too slow for that question still tells of runs. */
  async #tools(): Promise<string> {
    const tools = await listWaitingTools(this.#questions).catch(() => []);
    return tools.map(({ id }) => id).join(' ');
  }

  /** A role that may only read leaves it to the process that writes. */
  async #addUp(): Promise<void> {
    try {
      // Another process that adds up may have begun before what is asked about had arrived.
      for (let i = 0; i < TRIES && (await refreshRuns(this.#db)) === null; i += 1) await sleep(PAUSE_MS);
      if (performance.now() - this.#rolledUpAt < ROLLUP_MS) return;
      await refreshRollups(this.#db);
      this.#rolledUpAt = performance.now();
    } catch (error) {
      if (!ObservatoryError.isInstance(error) || error.code !== 'DATABASE_REFUSED') throw error;
      diag.info(`mcp-observatory: runs are not added up by this page: ${error.message}`);
      this.#isReadOnly = true;
    }
  }

  #setDown(why: string | undefined): void {
    if (why === this.#down) return;
    this.#down = why;
    if (why === undefined) this.#tell('changed', '');
    else this.#tell('down', why);
  }

  #tell(event: string, data: string): void {
    const text = eventText(event, data);
    for (const response of this.#listeners) {
      // A page that does not read is cut off instead of being buffered for.
      if (response.writableLength > 65_536) response.destroy();
      else response.write(text);
    }
  }
}

function eventText(event: string, data: string): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
