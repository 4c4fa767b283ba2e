import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { Live } from '../src/ui/server/live.ts';
import { exportSpans } from './support/export.ts';
import { BEARER, PAGE_TOKEN } from './support/page-token.ts';
import { noPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts';
import { PAYMENT, RETRIED } from './support/seeded-runs.ts';
import { waitUntil } from './support/wait-until.ts';

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
      const { host, port, pathname, search } = new URL(url);
      // Browsers know the names below `localhost`, Node asks the system.
      const at = { host: '127.0.0.1', port, path: pathname + search, method };
      const sent = request({ ...at, headers: { host, ...BEARER, ...headers } }, (response) => {
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
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    // Another test of this server may hold a transaction open, which delays what is added up.
    let runs: { id: string }[] = [];
    await waitUntil(async () => {
      const { body } = await ask(`${page.address}api/runs?fresh&q=${encodeURIComponent('tool:pay')}`);
      ({ runs } = JSON.parse(body) as { runs: { id: string }[] });
      return runs.length > 0;
    });
    assert.deepEqual(
      runs.map(({ id }) => id),
      [RUN],
    );
    const run = JSON.parse((await ask(`${page.address}api/runs/${RUN}`)).body) as {
      explanation: { text: string }[];
      spans: object[];
    };
    assert.match(run.explanation.map(({ text }) => text).join(''), /^3 tool calls, 1 failed \(send_payment/);
    assert.equal(run.spans.length, 7);
    const span = JSON.parse(
      (await ask(`${page.address}api/runs/${RUN}/spans/${'3e9'.padStart(16, '0')}`)).body,
    ) as object;
    assert.ok('prompt_hash' in span);
    assert.equal((await ask(`${page.address}api/runs/${'9'.padStart(32, '0')}`)).status, 404);
    const refused = await ask(`${page.address}api/runs?limit=1000000`);
    assert.equal(refused.status, 400);
    assert.equal((JSON.parse(refused.body) as { error: { code: string } }).error.code, 'INVALID_OPTION');
    assert.equal((await ask(`${page.address}api/cost?by=constructor`)).status, 400);
    assert.equal((await ask(`${page.address}api/runs?since=-1`)).status, 400);
  });

  test('notes and views are kept by a person only, and the filter finds what was written', async () => {
    const readToken = 'reads-and-never-writes';
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN, readToken, person: 'ada' });
    const post = (path: string, body: object, token = PAGE_TOKEN) =>
      fetch(`${page.address}api/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const read = async (path: string) =>
      JSON.parse((await ask(`${page.address}api/${path}`)).body) as Record<string, unknown>;
    await waitUntil(async () => ((await read('runs?fresh')).runs as object[]).length > 0);
    const note = { labels: ['to check', 'billing', 'billing'], note: 'Ask <b>Bob</b> first' };
    assert.equal((await post(`runs/${RUN}/note`, note, readToken)).status, 403);
    assert.equal((await post(`runs/${RUN}/note`, { ...note, labels: ['x'.repeat(51)] })).status, 400);
    assert.equal((await post(`runs/${'9'.padStart(32, '0')}/note`, note)).status, 404);
    assert.equal((await post(`runs/${RUN}/note`, note)).status, 200);
    for (const [filter, found] of [
      ['label:bill', 1],
      ['note:bob is:noted', 1],
      ['label:other', 0],
      ['-label:bill', 0],
    ] as const)
      assert.equal(((await read(`runs?q=${encodeURIComponent(filter)}`)).runs as object[]).length, found);
    const { run } = (await read(`runs/${RUN}`)) as { run: Record<string, unknown> };
    assert.deepEqual(
      [run.labels, run.note, run.notedBy],
      [['to check', 'billing'], 'Ask <b>Bob</b> first', 'page:ada'],
    );
    assert.deepEqual(await read(`runs/${RUN}/related`), {
      primary: null,
      shadows: [],
      promptHash: null,
      samePrompt: 0,
      canBeGolden: true,
    });
    assert.deepEqual(await read(`runs/${RUN}/find?text=CARD_`), { spans: ['3ed'.padStart(16, '0')] });

    const view = { name: 'dear ones', address: 'q=cost%3E1', measure: 'failed', threshold: 0.2 };
    assert.equal((await post('views', view, readToken)).status, 403);
    assert.equal((await post('views', { ...view, measure: 'runs' })).status, 400);
    assert.equal((await post('views', { ...view, threshold: null })).status, 400);
    for (let i = 0; i < 2; i += 1) assert.equal((await post('views', view)).status, 200);
    const { views } = (await read('views')) as { views: { id: string }[] };
    assert.deepEqual(
      views.map(({ id: _, ...rest }) => rest),
      [{ ...view, isOver: false }],
    );
    assert.equal((await post(`views/${views[0]?.id}/remove`, {})).status, 200);
    assert.equal((await post(`views/${views[0]?.id}/remove`, {})).status, 404);
    assert.equal((await post('views/x', {})).status, 404);
  });

  test('answers are compressed for those who take it, and not sent again to those who have them', async () => {
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    const zipped = { 'accept-encoding': 'gzip, br' };
    for (const path of ['', 'page.js', `api/runs/${RUN}`, 'api/tools']) {
      const plain = await ask(`${page.address}${path}`, { 'accept-encoding': 'gzip;q=0' });
      const { headers } = await ask(`${page.address}${path}`, zipped);
      assert.equal(plain.headers['content-encoding'], undefined);
      if (plain.body.length > 2000 || path === '') assert.equal(headers['content-encoding'], 'gzip', path);
      assert.equal(headers.etag, plain.headers.etag);
      const again = await ask(`${page.address}${path}`, { ...zipped, 'if-none-match': String(headers.etag) });
      assert.deepEqual([again.status, again.body], [304, '']);
    }
    const files = ['', 'page.js', 'page.css'].map(async (path) => {
      const { headers } = await ask(`${page.address}${path}`, zipped);
      return Number(headers['content-length']);
    });
    const bytes = (await Promise.all(files)).reduce((sum, one) => sum + one, 0);
    assert.ok(bytes < 60_000, `the first load has ${bytes} bytes`);
  });

  test('lists what has arrived although no page is open', async () => {
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    const exporter = new PostgresSpanExporter({ connection: db });
    await exportSpans(exporter, RETRIED);
    await exporter.shutdown();
    const id = '2'.padStart(32, '0');
    // Another test of this server may hold a transaction open, which delays what is added up.
    await waitUntil(async () => (await ask(`${page.address}api/runs?limit=50`)).body.includes(id));
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

  test('figures by the hour are fresh for whoever asks after a pause, however few have asked', async (t) => {
    let added = 0;
    const live = new Live({
      query: async (text: string) => {
        if (text.includes('mcp_traces_refresh_rollups')) added += 1;
        return { rows: [{ counted: 0, state: '' }] };
      },
    } as unknown as ConstructorParameters<typeof Live>[0]);
    await live.refresh();
    await live.refresh();
    assert.equal(added, 1);
    const now = performance.now() + 20_000;
    t.mock.method(performance, 'now', () => now);
    await live.refresh();
    assert.equal(added, 2);
  });

  test('loads nothing from elsewhere, and answers to its own name and pages only', async () => {
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    const { host } = new URL(page.address);
    const first = await ask(page.address);
    assert.equal(first.status, 200);
    assert.match(
      String(first.headers['content-security-policy']),
      /default-src 'none'; script-src 'self'; style-src 'self'/,
    );
    assert.doesNotMatch(first.body, /<script(?! type="module" src="\/page.js")|https?:\/\//);
    assert.equal((await ask(page.address, { host: 'evil.example' })).status, 421);
    assert.equal((await ask(page.address, { host: `evil.example:${host.split(':')[1]}` })).status, 421);
    assert.equal((await ask(`${page.address}api/runs`, { origin: 'http://evil.example' })).status, 403);
    assert.equal((await ask(`${page.address}api/runs`, { 'sec-fetch-site': 'cross-site' })).status, 403);
    assert.equal((await ask(`${page.address}api/runs`, { origin: `http://${host}` })).status, 200);
    assert.equal((await ask(page.address, {}, 'POST')).status, 405);
    assert.equal((await ask(`${page.address}../../package.json`)).status, 404);
    assert.equal((await ask(`${page.address}${'x'.repeat(9000)}`)).status, 414);
  });

  test('the address is for one browser, which decides with its cookie and its key; the read token only reads', async () => {
    const next: string[] = [];
    const readToken = 'the-read-token-of-this-page';
    await using page = await startPage({ db, port: 0, readToken, onAddress: (url) => next.push(url) });
    const { address, url } = page;
    const runs = `${address}api/runs`;
    const decide = `${address}api/waiting/00000000-0000-4000-8000-000000000000`;
    const none = { authorization: '' };
    assert.equal((await ask(address, none)).status, 200, 'the page itself has no data');
    assert.equal((await ask(runs, none)).status, 401);
    assert.equal((await ask(`${address}?token=wrong`, none)).status, 401);
    assert.equal((await ask(`${address}${new URL(url).search}`, none)).status, 401, 'by another name');
    const opened = await ask(url, none);
    assert.equal(opened.status, 303);
    const [, key = ''] = /^\/\?key=([\w-]{43})$/u.exec(String(opened.headers.location)) ?? [];
    const [set = ''] = opened.headers['set-cookie'] as string[];
    assert.match(set, /^mcp_observatory_\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/u);
    const cookie = set.split(';', 1)[0] ?? '';
    const both = { ...none, cookie, 'x-observatory-key': key };
    assert.equal((await ask(runs, both)).status, 200);
    assert.equal((await ask(decide, both, 'POST')).status, 400, 'a decision without a body');
    // A cookie goes to every port of the machine, and the key is on disk: neither is enough.
    for (const half of [
      { ...none, cookie },
      { ...none, 'x-observatory-key': key },
    ]) {
      assert.equal((await ask(runs, half)).status, 401);
      assert.equal((await ask(decide, half, 'POST')).status, 401);
    }
    assert.equal((await ask(url, none)).status, 401, 'used');
    assert.equal((await ask(url, both)).headers.location, '/', 'the browser that used it');
    assert.deepEqual(next, [page.url]);
    assert.notEqual(page.url, url);
    assert.equal((await ask(page.url, none)).status, 303);
    const reading = { authorization: `Bearer ${readToken}` };
    assert.equal((await ask(runs, reading)).status, 200);
    assert.equal((await ask(decide, reading, 'POST')).status, 403);
    assert.equal((await ask(`${runs}/${RUN}/golden`, reading, 'POST')).status, 403);
    await using again = await startPage({ db, port: 0, readToken });
    assert.match(new URL(url).hostname, /^up-[\da-f]{10}\.localhost$/u);
    assert.notEqual(
      new URL(again.url).hostname,
      new URL(url).hostname,
      'what was left under a name stays there',
    );
    const bearer = { authorization: `Bearer ${new URL(page.url).searchParams.get('token')}` };
    assert.equal((await ask(runs, bearer)).status, 401, 'the token of an address is no bearer token');
  });

  test('a link from elsewhere opens the page, and nothing else from elsewhere is answered', async () => {
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    for (const site of ['cross-site', 'same-site']) {
      const link = { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
      assert.equal((await ask(page.address, link)).status, 200);
      assert.equal((await ask(`${page.address}api/runs`, link)).status, 403);
      assert.equal((await ask(page.address, { ...link, 'sec-fetch-dest': 'iframe' })).status, 403);
      assert.equal(
        (await ask(`${page.address}page.js`, { ...link, 'sec-fetch-mode': 'no-cors' })).status,
        403,
      );
      assert.equal((await ask(page.address, link, 'POST')).status, 403);
      assert.equal((await ask(page.address, { ...link, host: 'evil.example' })).status, 421);
    }
  });

  test('a token that can be guessed is refused', async () => {
    for (const host of ['0.0.0.0', undefined])
      await assert.rejects(startPage({ db, port: 0, host, token: 'short' }), { code: 'INVALID_OPTION' });
  });

  test('what is no id of anything is not found, wherever an address has one', async () => {
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
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
      const { status, body } = await ask(`${page.address}api/${path}`);
      assert.equal(status, 404, `${path}: ${status} ${body}`);
    }
    for (const id of uuids) {
      const answer = await fetch(`${page.address}api/waiting/${id}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...BEARER },
        body: '{"decision":"reject"}',
      });
      assert.equal(answer.status, 404, `POST ${id}: ${await answer.text()}`);
    }
  });

  test('says what is wrong with the database', async () => {
    await using empty = await openDatabase({ url: await server.createDatabase() });
    await using page = await startPage({ db: empty, port: 0, token: PAGE_TOKEN });
    const { status, body } = await ask(`${page.address}api/runs`);
    assert.equal(status, 503);
    assert.equal((JSON.parse(body) as { error: { code: string } }).error.code, 'DATABASE_SCHEMA_MISSING');
  });
});
