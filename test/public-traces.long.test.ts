/** Traces of public repositories through our OTLP door: what is stored sums to what their leaf calls say. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Collector, startCollector } from '../src/collector/index.ts';
import { post } from './support/http-post.ts';
import { encodeProtobuf, type RequestJson } from './support/otlp-encode.ts';
import { noPostgres, type PostgresServer, runSql, startOwnPostgres } from './support/postgres-server.ts';
import {
  noPublicTraces,
  type PublicTrace,
  publicRequest,
  readPublicTraces,
  sumLeaves,
} from './support/public-traces.ts';

const skip = noPublicTraces() || noPostgres();
const traces = skip === false ? readPublicTraces() : [];
/** Only spans of one trace can be found to be one call where they came apart. */
const waysOf = ({ spans }: PublicTrace) =>
  new Set(spans.map((span) => span.trace)).size === 1 ? ['whole', 'parted'] : ['whole'];

describe('public traces sum to their leaf calls', { skip }, () => {
  let server: PostgresServer;
  let collectors: readonly Collector[] = [];
  let url: string;

  before(async () => {
    server = await startOwnPostgres();
    url = await server.createMigrated();
    const options = { databaseUrl: url, http: { host: '127.0.0.1', port: 0 }, grpc: false } as const;
    collectors = await Promise.all([startCollector(options), startCollector(options)]);
    for (const trace of traces) {
      await send(0, publicRequest(trace, 'whole', `whole ${trace.name}`));
      // Each span to one of two collectors, so that only the store has the trace together.
      for (const [i, span] of trace.spans.entries())
        await send(i % 2, publicRequest(trace, 'parted', `parted ${trace.name}`, [span]));
    }
    await runSql(url, 'SELECT mcp_traces_settle()');
  });
  after(async () => {
    await Promise.all(collectors.map((collector) => collector.close()));
    await server?.[Symbol.asyncDispose]();
  });

  async function send(to: number, request: object): Promise<void> {
    const headers = { 'content-type': 'application/x-protobuf' };
    const body = encodeProtobuf(request as RequestJson);
    const answer = await post(`${collectors[to]?.httpUrl}/v1/traces`, headers, body);
    assert.equal(answer.status, 200, answer.body.toString());
  }

  for (const trace of traces) {
    for (const way of waysOf(trace)) {
      test(`${trace.name}, ${way}`, async () => {
        const [stored] = await runSql(url, `${SUMS} '${way} ${trace.name.replaceAll("'", "''")}'`);
        assert.deepEqual(stored, sumLeaves(trace));
      });
    }
  }
});

const SUMS = `
  SELECT coalesce(sum(prompt_tokens), 0)::int AS input, coalesce(sum(completion_tokens), 0)::int AS output,
    count(*) FILTER (WHERE prompt_tokens IS NOT NULL OR completion_tokens IS NOT NULL)::int AS calls
  FROM mcp_traces WHERE service =`;
