/** The store for agents: a model with these tools alone finds what failed in the demo, and why. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as sdk from '@modelcontextprotocol/server';
import { type Database, openDatabase } from '../src/postgres/index.ts';
import { startPage, storeMcp } from '../src/ui/index.ts';
import { post } from './support/http-post.ts';
import { BEARER, PAGE_TOKEN } from './support/page-token.ts';
import { noPostgres, type PostgresServer, startOwnPostgres } from './support/postgres-server.ts';
import { tempDir } from './support/temp-dir.ts';

const MAIN = fileURLToPath(new URL('../lib/cli.js', import.meta.url));
const MAX_ANSWER_CHARS = 16_000;

describe('the store for agents', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let db: Database;
  let page: Awaited<ReturnType<typeof startPage>>;
  before(async () => {
    server = await startOwnPostgres();
    const { OTEL_EXPORTER_OTLP_ENDPOINT: _, ...env } = process.env;
    await promisify(execFile)(process.execPath, [MAIN, 'demo'], {
      cwd: tempDir(),
      env: {
        ...env,
        MCP_OBSERVATORY_DATABASE_URL: server.url,
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
      },
    });
    db = await openDatabase({ url: server.url });
    page = await startPage({ db, port: 0, token: PAGE_TOKEN, mcp: storeMcp(sdk, db) });
  });
  after(async () => {
    await page?.close();
    await db?.close();
    await server?.[Symbol.asyncDispose]();
  });

  /** A client that calls tools, and what it was told. */
  async function connected(transport: ConstructorParameters<typeof Client>[0] | object) {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport as never);
    const call = async (name: string, args: Record<string, unknown> = {}) => {
      const { content, isError } = await client.callTool({ name, arguments: args });
      const text = (content as { text: string }[]).map((part) => part.text).join('\n');
      assert.ok(text.length <= MAX_ANSWER_CHARS, `${name} answers with ${text.length} characters`);
      return { text, isError: isError === true };
    };
    return { client, call };
  }
  const overHttp = () =>
    connected(
      new StreamableHTTPClientTransport(new URL(`${page.address}mcp`), { requestInit: { headers: BEARER } }),
    );
  const countSpans = async () =>
    Number((await db.query('SELECT count(*)::integer AS n FROM mcp_traces')).rows[0]?.n);

  test('in three calls: the failed run, the failing call, its cause', async () => {
    const spans = await countSpans();
    const { client, call } = await overHttp();
    const { tools } = await client.listTools();
    assert.ok(tools.every(({ annotations }) => annotations?.readOnlyHint === true));
    const list = await call('list_runs', { filter: 'status:failed' });
    const [, id = ''] = /^([0-9a-f]{32}) /m.exec(list.text) ?? [];
    const run = await call('show_run', { run: id });
    assert.match(
      run.text,
      /what failed, from the root to the failure:\n +span [0-9a-f]{16} invoke_workflow invoice-review/,
    );
    const [, span = ''] = [...run.text.matchAll(/span ([0-9a-f]{16}) .*failed/g)].at(-1) ?? [];
    const detail = await call('show_span', { run: id, span });
    assert.match(detail.text, /^status_code: error$/m);
    assert.match(detail.text, /^tool_name: send_payment$/m);
    assert.match(detail.text, /Payment declined: INV-92311 is not approved/);
    await client.close();
    assert.equal(await countSpans(), spans, 'looking is no run');
  });

  test("other questions are answered within a model's window, and wrong ones told", async () => {
    const { client, call } = await overHttp();
    assert.match((await call('tool_health')).text, /calls?, \d+ failed/);
    assert.match((await call('cost_report', { by: 'model' })).text, /gpt-4o.*tokens in/);
    const counted = await call('query', { sql: 'SELECT count(*) AS spans FROM mcp_traces' });
    assert.deepEqual(JSON.parse(counted.text), { spans: await countSpans() });
    const changing = await call('query', { sql: 'DELETE FROM mcp_traces' });
    assert.deepEqual([changing.isError, /must begin with SELECT/.test(changing.text)], [true, true]);
    assert.match((await call('list_runs', { filter: 'toll:x' })).text, /Did you mean 'tool:x'/);
    assert.match((await call('list_runs', { filter: 'tool:nothing-like-it' })).text, /No run matches/);
    const [, id = ''] = /^([0-9a-f]{32}) /m.exec((await call('list_runs')).text) ?? [];
    assert.match(
      (await call('compare_runs', { first: id, second: id.slice(0, 12) })).text,
      /calls are in both/,
    );
    const unknown = await call('show_run', { run: 'ffffffff' });
    assert.deepEqual([unknown.isError, /list_runs has the ids/.test(unknown.text)], [true, true]);
    for (const args of [{ run: "' OR 1=1" }, { run: id, extra: 1 }, {}]) {
      const refused = await call('show_run', args).catch((error: Error) => ({
        isError: true,
        text: error.message,
      }));
      assert.equal(refused.isError, true);
    }
    await client.close();
  });

  test('other pages are refused, and so are bodies that are no JSON', async () => {
    const url = `${page.address}mcp`;
    const accept = 'application/json, text/event-stream';
    const headers = { ...BEARER, 'content-type': 'application/json', accept };
    const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
    assert.equal((await post(url, { ...headers, origin: 'http://evil.example' }, body)).status, 403);
    assert.equal((await post(url, { ...headers, host: 'evil.example' }, body)).status, 421);
    assert.equal((await post(url, headers, Buffer.from('{'))).status, 400);
    assert.equal((await post(url, headers, Buffer.alloc(2 * 1024 * 1024, 32))).status, 400);
  });

  test('the same over stdio', async () => {
    const env = { PATH: process.env.PATH ?? '', DATABASE_URL: server.url };
    const { client, call } = await connected(
      new StdioClientTransport({ command: process.execPath, args: [MAIN, 'mcp'], env }),
    );
    assert.match((await call('list_runs', { filter: 'status:failed' })).text, /failed May invoice INV-92311/);
    await client.close();
  });
});
