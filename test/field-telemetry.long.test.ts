/**
 * Spans as other libraries send them, made from public bug reports, go through a collector into Postgres; the rows must
 * sum to what each report says is right. See `field/telemetry` of the data folder.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Collector, startCollector } from '../src/collector/index.ts';
import { needsData, readJson } from './support/data.ts';
import { post } from './support/http-post.ts';
import { noPostgres, type PostgresServer, runSql, startPostgres } from './support/postgres-server.ts';

type Value = string | number | boolean;

interface FieldCase {
  readonly why: string;
  readonly right: Readonly<Record<string, Value>>;
}

/** Cases that are not right yet. */
const PENDING: ReadonlySet<string> = new Set();

const FOLDER = 'field/telemetry';
const { skip } = needsData(FOLDER);
const cases = skip === false ? readJson<Record<string, FieldCase>>(`${FOLDER}/expected.json`) : {};

const SUMS = `
  SELECT sum(prompt_tokens)::int AS sum_prompt_tokens, sum(completion_tokens)::int AS sum_completion_tokens,
    sum(cost_usd) AS sum_cost_usd, sum(cached_prompt_tokens)::int AS cached_prompt_tokens,
    sum(cache_write_tokens)::int AS cache_write_tokens, max(finish_reason) AS finish_reason,
    max(session_id) AS session_id, max(user_id) AS user_id, max(model) AS model, max(tool_name) AS tool_name,
    max(prompt_hash) AS prompt_hash, max(answer_hash) AS answer_hash, bool_or(cost_usd IS NOT NULL) AS cost_is_known
  FROM mcp_traces WHERE service =`;

/** Whether a stored value is the right one. The name of a tool is right in any form. */
function isRight(name: string, right: Value, stored: unknown): boolean {
  if (name === 'tool_name') return typeof stored === 'string';
  if (typeof right !== 'number') return stored === right;
  return typeof stored === 'number' && Math.abs(stored - right) <= 1e-9 * Math.max(1, right);
}

describe('spans of public reports through the collector', { skip: skip || noPostgres() }, () => {
  let server: PostgresServer;
  let collector: Collector;
  let url: string;

  before(async () => {
    server = await startPostgres();
    url = await server.createMigrated();
    collector = await startCollector({
      databaseUrl: url,
      http: { host: '127.0.0.1', port: 0 },
      grpc: false,
    });
    for (const name of Object.keys(cases)) {
      const body = Buffer.from(JSON.stringify(readJson(`${FOLDER}/otlp/${name}.json`)));
      const headers = { 'content-type': 'application/json' };
      const answer = await post(`${collector.httpUrl}/v1/traces`, headers, body);
      assert.equal(answer.status, 200, `${name}: ${answer.body.toString()}`);
    }
  });
  after(async () => {
    await collector?.close();
    await server?.[Symbol.asyncDispose]();
  });

  for (const [name, { why, right }] of Object.entries(cases)) {
    test(`${name}: ${why}`, { todo: PENDING.has(name) }, async () => {
      const [stored = {}] = await runSql(url, `${SUMS} '${name.replaceAll("'", "''")}'`);
      const wrong = Object.entries(right)
        .filter(([key, value]) => !isRight(key, value, stored[key]))
        .map(([key, value]) => `${key} is ${stored[key]}, right is ${value}`);
      assert.deepEqual(wrong, []);
    });
  }
});
