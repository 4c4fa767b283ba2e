/** What the page's API answers when the database has no tables, no rows, or is gone. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { migrate, openDatabase } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { post } from './support/http-post.ts';
import { BEARER, PAGE_TOKEN } from './support/page-token.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';

const PATHS = ['runs', 'metrics', 'tools', 'cost', 'waiting', 'sessions'];

describe('the API of the page', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.stop());

  const get = async (url: string) => {
    const { status, body } = await post(url, BEARER, undefined, 'GET');
    return { status, ...(JSON.parse(body.toString()) as { error?: { code: string; message: string } }) };
  };

  test('says that the tables are missing, and how to make them', async () => {
    await using db = await openDatabase({ url: await server.createDatabase() });
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    for (const path of [...PATHS, 'runs?fresh', `runs/${'1'.repeat(32)}`]) {
      const { status, error } = await get(`${page.address}api/${path}`);
      assert.deepEqual([path, status, error?.code], [path, 503, 'DATABASE_SCHEMA_MISSING']);
      assert.match(error?.message ?? '', /db migrate/);
    }
  });

  test('answers without rows, and tells an unknown run from an error', async () => {
    await using db = await openDatabase({ url: await server.createDatabase() });
    await migrate(db);
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    for (const path of PATHS) assert.equal((await get(`${page.address}api/${path}`)).status, 200, path);
    const { status, error } = await get(`${page.address}api/runs/${'1'.repeat(32)}`);
    assert.deepEqual([status, error?.code], [404, 'NOT_FOUND']);
  });

  test('says that the database is gone, and lives on', async () => {
    const url = new URL(await server.createDatabase());
    url.port = '1';
    await using db = await openDatabase({ url: url.href, connectTimeoutMs: 500 });
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    for (const path of PATHS) {
      const { status, error } = await get(`${page.address}api/${path}`);
      assert.deepEqual([path, status, error?.code], [path, 503, 'DATABASE_UNREACHABLE']);
      assert.doesNotMatch(error?.message ?? '', /password/);
    }
    assert.equal((await post(page.address, {}, undefined, 'GET')).status, 200);
  });
});
