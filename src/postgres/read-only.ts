import { ObservatoryError } from '../base/index.ts';
import { type CopyPool, withClient } from './copy-in.ts';
import { readSqlState } from './database-error.ts';
import type { Database, Queryable, QueryResult, ReadOnlyOptions, Statement } from './types.ts';

/** A statement that ran out of its time, or that somebody canceled. */
const QUERY_CANCELED = '57014';

/** A connection of `pg`, as far as statements go. `extended` takes one statement only. */
interface PgClient {
  query(statement: string | object): Promise<QueryResult>;
}

/** Requests that have not begun after this time are dropped: their callers have timed out too. */
const MAX_WAIT_MS = 30_000;

/** `readOnly` of a server. Of its connections, which others need, statements that somebody else wrote take one. */
export function toReading(pool: CopyPool): Database['readOnly'] {
  let last: Promise<unknown> = Promise.resolve();
  return (statements, { timeoutMs, isForeign }) => {
    if (isForeign !== true) return readOnPool(pool, statements, timeoutMs);
    const sinceMs = performance.now();
    const answer = last.then(() => {
      checkWait(sinceMs);
      return readOnPool(pool, statements, timeoutMs);
    });
    last = answer.catch(() => undefined);
    return answer;
  };
}

/** @throws ObservatoryError `DATABASE_REFUSED` for a question that has waited too long for its turn. */
export function checkWait(sinceMs: number): void {
  if (performance.now() - sinceMs <= MAX_WAIT_MS) return;
  throw new ObservatoryError(
    'DATABASE_REFUSED',
    `The database was busy with other questions for ${MAX_WAIT_MS / 1000} s. Ask again later, or for less.`,
  );
}

/** Runs statements in one transaction that may only read, and rolls it back. */
async function readOnPool(
  pool: CopyPool,
  statements: readonly Statement[],
  timeoutMs: number,
): Promise<readonly QueryResult[]> {
  try {
    return await withClient(pool, async (connection) => {
      const client = connection as unknown as PgClient;
      await client.query(beginReading(timeoutMs));
      try {
        const results: QueryResult[] = [];
        for (const { text, values } of statements)
          results.push(await client.query({ text, values, queryMode: 'extended' }));
        return results;
      } finally {
        await client.query('ROLLBACK');
      }
    });
  } catch (cause) {
    if (readSqlState(cause) !== QUERY_CANCELED) throw cause;
    throw questionEnded(`after ${timeoutMs / 1000} s`, cause);
  }
}

/** @param why such as `after 5 s`. */
export function questionEnded(why: string, cause?: unknown): ObservatoryError {
  return new ObservatoryError(
    'DATABASE_REFUSED',
    `A question to the database was stopped ${why}. Ask for a shorter range of time, or for less.`,
    cause === undefined ? undefined : { cause },
  );
}

function beginReading(timeoutMs: number): string {
  return `BEGIN READ ONLY; SET LOCAL statement_timeout = ${Math.ceil(timeoutMs)}`;
}

/** A database each of whose statements may only read, and ends after a time. */
export function reading(db: Queryable, how: ReadOnlyOptions): Queryable {
  if (!('readOnly' in db) || typeof db.readOnly !== 'function') return db;
  const readOnly = db.readOnly.bind(db) as Database['readOnly'];
  return {
    query: async (text, values) => (await readOnly([{ text, values }], how))[0] as QueryResult,
  };
}
