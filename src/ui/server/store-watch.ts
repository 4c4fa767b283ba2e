import { diag } from '@opentelemetry/api';
import { errorMessage } from '../../base/index.ts';
import { checkStore, type Database, type Queryable, type StoreCheck } from '../../postgres/index.ts';

const EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
/** Of each question. */
const TIMEOUT_MS = 2000;

/**
 * What cannot be right in the spans of the last day, for a line on the page. It is asked for at most once a minute, after
 * all other questions, and nobody waits for it. A store that is too large for that is not asked again.
 */
export class StoreWatch {
  readonly #db: Database | undefined;
  #findings: StoreCheck['findings'] = [];
  #nextAtMs = 0;

  constructor(db: Queryable) {
    this.#db = 'readOnly' in db ? (db as Database) : undefined;
  }

  /** What is known by now; asks for what has become of it if it is time. */
  look(): StoreCheck['findings'] {
    const now = performance.now();
    if (this.#db !== undefined && now >= this.#nextAtMs) {
      this.#nextAtMs = Number.POSITIVE_INFINITY;
      void this.#ask(this.#db);
    }
    return this.#findings;
  }

  async #ask(db: Database): Promise<void> {
    try {
      const since = new Date(Date.now() - DAY_MS);
      const { findings, unanswered } = await checkStore(db, {
        since,
        timeoutMs: TIMEOUT_MS,
        isForeign: true,
      });
      this.#findings = findings;
      if (unanswered.length > 0) return;
    } catch (error) {
      diag.info(`mcp-observatory: the store is not checked: ${errorMessage(error)}`);
    }
    this.#nextAtMs = performance.now() + EVERY_MS;
  }
}
