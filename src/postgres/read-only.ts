import { ObservatoryError } from '../base/index.ts';
import { type CopyPool, withClient } from './copy-in.ts';
import { sqlStateOf } from './database-error.ts';
import type { Queryable, QueryResult, Statement } from './types.ts';

/** A statement that ran out of its time, or that somebody canceled. */
const QUERY_CANCELED = '57014';

/** A connection of `pg`, as far as statements go. `extended` takes one statement only. */
interface PgClient {
  query(statement: string | object): Promise<QueryResult>;
}

/** Runs statements in one transaction that may only read, and rolls it back. */
export async function readOnPool(
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
    if (sqlStateOf(cause) !== QUERY_CANCELED) throw cause;
    throw new ObservatoryError(
      'DATABASE_REFUSED',
      `A question to the database was stopped after ${timeoutMs / 1000} s. Ask for a shorter range of time, or for less.`,
      { cause },
    );
  }
}

function beginReading(timeoutMs: number): string {
  return `BEGIN READ ONLY; SET LOCAL statement_timeout = ${Math.ceil(timeoutMs)}`;
}

/** A database each of whose statements may only read, and ends after a time where it is a server. */
export function reading(db: Queryable, timeoutMs: number): Queryable {
  if (!('readOnly' in db) || typeof db.readOnly !== 'function') return db;
  const readOnly = db.readOnly.bind(db) as (s: readonly Statement[], ms: number) => Promise<QueryResult[]>;
  return {
    query: async (text, values) => (await readOnly([{ text, values }], timeoutMs))[0] as QueryResult,
  };
}
