import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { Live } from '../src/ui/server/live.ts';
import { exportSpans } from './support/export.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { PAYMENT, RETRIED } from './support/seeded-runs.ts';
import { waitUntil } from './support/wait-until.ts';

const TOKEN = 'a-token-of-enough-characters';
const RUN = '1'.padStart(32, '0');

describe('the page', { skip: noPostgres() }, () => {
  let server: PostgresServer;
  let db: Awaited<ReturnType<typeof openDatabase>>;
  before(async () => {
    server = await startPostgres();
    const url = await server.createMigrated();
    db = await openDatabase({ url });
    const exporter = new PostgresSpanExporter({ connection: url });
    await exportSpans(exporter, PAYMENT);
    await exporter.shutdown();
  });
  after(async () => {
    await db.close();
    await server.stop();
  });

  /** What `fetch` would not send: any host, any header. */
  const ask = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
      const sent = request(url, { method, headers }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          body += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
        );
      });
      sent.on('error', reject).end();
    });

  test('answers with figures and explanations', async () => {
    await using page = await startPage({ db, port: 0 });
    // Another test of this server may hold a transaction open, which delays what is added up.
    let runs: { id: string }[] = [];
    await waitUntil(async () => {
      const { body } = await ask(`${page.url}api/runs?fresh&q=${encodeURIComponent('tool:pay')}`);
      ({ runs } = JSON.parse(body) as { runs: { id: string }[] });
      return runs.length > 0;
    });
    assert.deepEqual(
      runs.map(({ id }) => id),
      [RUN],
    );
    const run = JSON.parse((await ask(`${page.url}api/runs/${RUN}`)).body) as {
      explanation: { text: string }[];
      spans: object[];
    };
    assert.match(run.explanation.map(({ text }) => text).join(''), /^3 tool calls, 1 failed \(send_payment/);
    assert.equal(run.spans.length, 7);
    const span = JSON.parse(
      (await ask(`${page.url}api/runs/${RUN}/spans/${'3e9'.padStart(16, '0')}`)).body,
    ) as object;
    assert.ok('prompt_hash' in span);
    assert.equal((await ask(`${page.url}api/runs/${'9'.padStart(32, '0')}`)).status, 404);
    const refused = await ask(`${page.url}api/runs?limit=1000000`);
    assert.equal(refused.status, 400);
    assert.equal((JSON.parse(refused.body) as { error: { code: string } }).error.code, 'INVALID_OPTION');
    assert.equal((await ask(`${page.url}api/cost?by=constructor`)).status, 400);
    assert.equal((await ask(`${page.url}api/runs?since=-1`)).status, 400);
  });

  test('lists what has arrived although no page is open', async () => {
    await using page = await startPage({ db, port: 0 });
    const exporter = new PostgresSpanExporter({ connection: db });
    await exportSpans(exporter, RETRIED);
    await exporter.shutdown();
    const id = '2'.padStart(32, '0');
    // Another test of this server may hold a transaction open, which delays what is added up.
    await waitUntil(async () => (await ask(`${page.url}api/runs?limit=50`)).body.includes(id));
  });

  test('a turn that began before is not taken for a look at what has arrived since', async () => {
    const asked: string[] = [];
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const live = new Live({
      query: async (text: string) => {
        asked.push(text);
        if (asked.length === 1) await held;
        return { rows: [{ counted: 0, state: '' }] };
      },
    } as unknown as ConstructorParameters<typeof Live>[0]);
    const first = live.refresh();
    const [second, third] = [live.refresh(), live.refresh()];
    release();
    await Promise.all([first, second, third]);
    const turns = asked.filter((text) => text.includes("WHERE status IN ('pending', 'claimed')"));
    assert.equal(turns.length, 2);
  });

  test('loads nothing from elsewhere, and answers to its own name and pages only', async () => {
    await using page = await startPage({ db, port: 0 });
    const { host } = new URL(page.url);
    const first = await ask(page.url);
    assert.equal(first.status, 200);
    assert.match(
      String(first.headers['content-security-policy']),
      /default-src 'none'; script-src 'self'; style-src 'self'/,
    );
    assert.doesNotMatch(first.body, /<script(?! type="module" src="\/page.js")|https?:\/\//);
    assert.equal((await ask(page.url, { host: 'evil.example' })).status, 421);
    assert.equal((await ask(page.url, { host: `evil.example:${host.split(':')[1]}` })).status, 421);
    assert.equal((await ask(`${page.url}api/runs`, { origin: 'http://evil.example' })).status, 403);
    assert.equal((await ask(`${page.url}api/runs`, { 'sec-fetch-site': 'cross-site' })).status, 403);
    assert.equal((await ask(`${page.url}api/runs`, { origin: `http://${host}` })).status, 200);
    assert.equal((await ask(page.url, {}, 'POST')).status, 405);
    assert.equal((await ask(`${page.url}../../package.json`)).status, 404);
    assert.equal((await ask(`${page.url}${'x'.repeat(9000)}`)).status, 414);
  });

  test('asks for its token, once', async () => {
    await using page = await startPage({ db, port: 0, token: TOKEN });
    const origin = new URL('/', page.url).href;
    assert.equal((await ask(origin)).status, 401);
    assert.equal((await ask(`${origin}?token=wrong`)).status, 401);
    const opened = await ask(page.url);
    assert.equal(opened.status, 303);
    assert.equal(opened.headers.location, '/');
    const [cookie = ''] = opened.headers['set-cookie'] as string[];
    assert.match(cookie, /HttpOnly; SameSite=Strict/);
    assert.equal((await ask(`${origin}api/runs`, { cookie: cookie.split(';', 1)[0] ?? '' })).status, 200);
    assert.equal((await ask(`${origin}api/runs`, { authorization: `Bearer ${TOKEN}` })).status, 200);
    await assert.rejects(startPage({ db, port: 0, host: '0.0.0.0' }), { code: 'INVALID_OPTION' });
    await assert.rejects(startPage({ db, port: 0, host: '0.0.0.0', token: 'short' }), {
      code: 'INVALID_OPTION',
    });
  });

  test('what is no id of anything is not found, wherever an address has one', async () => {
    await using page = await startPage({ db, port: 0 });
    const uuids = ['-'.repeat(36), 'f'.repeat(36), '0'.repeat(8) + '-'.repeat(28), crypto.randomUUID()];
    const runs = ['f'.repeat(32), 'e', 'f'.repeat(33), '-'.repeat(32)];
    const span = '0'.repeat(16);
    const paths = [
      ...uuids.map((id) => `waiting/${id}`),
      ...runs.flatMap((id) => [
        `runs/${id}`,
        `runs/${id}/spans/${span}`,
        `runs/${id}/spans/${span}/said`,
        `runs/${id}/primary`,
        `compare/${id}/${id}`,
        `compare/golden/${id}?golden=none`,
      ]),
    ];
    for (const path of paths) {
      const { status, body } = await ask(`${page.url}api/${path}`);
      assert.equal(status, 404, `${path}: ${status} ${body}`);
    }
    for (const id of uuids) {
      const answer = await fetch(`${page.url}api/waiting/${id}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"decision":"reject"}',
      });
      assert.equal(answer.status, 404, `POST ${id}: ${await answer.text()}`);
    }
  });

  test('says what is wrong with the database', async () => {
    await using empty = await openDatabase({ url: await server.createDatabase() });
    await using page = await startPage({ db: empty, port: 0 });
    const { status, body } = await ask(`${page.url}api/runs`);
    assert.equal(status, 503);
    assert.equal((JSON.parse(body) as { error: { code: string } }).error.code, 'DATABASE_SCHEMA_MISSING');
  });
});
