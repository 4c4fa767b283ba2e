// Runs with the others that need a quiet PostgreSQL: a refresh waits for every open transaction of its server.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { refreshRollups } from '../src/postgres/index.ts';
import { postgresDatabases } from './support/databases.ts';
import { insertDay, questions } from './support/day-of-rows.ts';
import { startQuietPostgres } from './support/postgres-server.ts';
import { manyRows, sized } from './support/size.ts';

const ROWS = sized(5_000, manyRows(100_000));

/** Pages of 8 KB that a question may touch, however many rows there are: 50 rows and the way to them, in each day. */
const MAX_PAGES = 250;

interface Plan {
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
}

// A refresh waits for every open transaction of its server.
const databases = postgresDatabases(startQuietPostgres);

describe('a day of rows', { skip: databases.skip }, () => {
  after(() => databases[Symbol.asyncDispose]());

  test('each question reads a few pages, and the roll-ups agree with the rows', async () => {
    const db = await databases.createMigrated();
    await db.query(insertDay(ROWS));
    await db.query('ANALYZE mcp_traces');
    for (const [name, sql] of Object.entries(questions(ROWS))) {
      const { rows } = await db.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`);
      const plan = (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan;
      const pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
      assert.ok(pages <= MAX_PAGES, `${name}: ${pages} pages`);
    }
    assert.equal(await refreshRollups(db), ROWS);
    const equal = async (counted: string, rolledUp: string) => {
      const figures = async (sql: string) => (await db.query(sql)).rows.map((row) => ({ ...row }));
      const expected = await figures(counted);
      assert.ok(expected.length > 1);
      assert.deepEqual(await figures(rolledUp), expected);
    };
    const calls = `count(*)::integer AS calls, count(*) FILTER (WHERE status_code = 'error')::integer AS errors`;
    await equal(
      `SELECT server_name, tool_name, client_name, ${calls} FROM mcp_traces WHERE tool_name IS NOT NULL
       GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
      `SELECT server_name, tool_name, client_name, sum(spans)::integer AS calls, sum(errors)::integer AS errors
       FROM mcp_tools_hourly GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    );
    await equal(
      `SELECT model, user_id, ${calls}, sum(prompt_tokens)::integer AS tokens, round(sum(cost_usd)::numeric, 6) AS cost
       FROM mcp_traces WHERE model IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2`,
      `SELECT model, user_id, sum(calls)::integer AS calls, sum(errors)::integer AS errors,
         sum(prompt_tokens)::integer AS tokens, round(sum(cost_usd)::numeric, 6) AS cost
       FROM mcp_models_hourly GROUP BY 1, 2 ORDER BY 1, 2`,
    );
    await equal(
      `SELECT model, count(*)::integer AS calls, sum(offered_tools_tokens)::integer AS tokens FROM mcp_traces
       WHERE offered_tools IS NOT NULL GROUP BY 1 ORDER BY 1`,
      `SELECT model, sum(calls)::integer AS calls, sum(tokens)::integer AS tokens FROM mcp_tax_hourly GROUP BY 1 ORDER BY 1`,
    );
    await equal(
      `SELECT session_id, max(client_name) AS client_name, max(user_id) AS user_id, count(*)::integer AS spans,
         count(model)::integer AS model_calls, count(tool_name)::integer AS tool_calls, max(end_time) AS last_time
       FROM mcp_traces GROUP BY 1 ORDER BY 1`,
      `SELECT session_id, client_name, user_id, spans::integer, model_calls::integer, tool_calls::integer, last_time
       FROM mcp_sessions ORDER BY 1`,
    );
  });
});
