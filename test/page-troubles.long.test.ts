/** What the page says in a real browser when something is wrong, and what to do. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, migrate, openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { noChromium, type Visit, visit } from './support/chromium.ts';
import { exportSpans } from './support/export.ts';
import { PAGE_TOKEN } from './support/page-token.ts';
import { noPostgres, startOwnPostgres, startPostgres } from './support/postgres-server.ts';
import { PAYMENT, runOf } from './support/seeded-runs.ts';
import { waitUntil } from './support/wait-until.ts';

const PATIENCE_MS = 60_000;

describe('a page with troubles', { skip: noChromium() || noPostgres() }, () => {
  const shows = async (view: Pick<Visit, 'evaluate'>, words: string) => {
    const text = async () => String(await view.evaluate('document.querySelector("main")?.innerText'));
    try {
      await waitUntil(async () => (await text()).includes(words), PATIENCE_MS);
    } catch {
      assert.fail(`not '${words}' but ${(await text()).slice(0, 2000)}`);
    }
  };
  test('without tables, without rows, without a database, without a server, and with all of it back', async (context) => {
    await using server = await startOwnPostgres();
    const { crash, restart } = server;
    if (crash === undefined || restart === undefined) {
      context.skip('the server belongs to others');
      return;
    }
    const url = await server.createDatabase();
    await using db = await openDatabase({ url });
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    await visit(page.url, async (view) => {
      await shows(view, 'This database has no tables of mcp-observatory');
      await shows(view, 'npx mcp-observatory db migrate');
      await migrate(db);
      // By itself, as soon as the database has an answer.
      await shows(view, 'Nothing has arrived in this range');
      await shows(view, 'OTEL_EXPORTER_OTLP_ENDPOINT');
      const exporter = new PostgresSpanExporter({ connection: url });
      await exportSpans(exporter, PAYMENT);
      await exporter.shutdown();
      await shows(view, 'invoke_agent payments');
      const header = (word: string) =>
        waitUntil(
          async () =>
            String(await view.evaluate('document.querySelector("header").innerText')).includes(word),
          PATIENCE_MS,
        );
      await header('Live');
      await crash();
      await header('Database lost');
      // The rows stay, under the time that they are of.
      await shows(view, 'invoke_agent payments');
      const banner = String(await view.evaluate('document.querySelector(".lostbar").innerText'));
      assert.match(banner, /The database does not answer\. What is shown is of \d\d:\d\d:\d\d/);
      for (const hash of ['#/tools', '#/cost', `#/run/${'1'.padStart(32, '0')}`, '#/runs']) {
        await view.evaluate(`location.hash = '${hash}'`);
        await shows(view, 'The database cannot be reached');
        await shows(view, 'npx mcp-observatory db status');
      }
      await restart();
      await shows(view, 'invoke_agent payments');
      await header('Live');
      await page.close();
      await header('Server lost');
      await shows(view, 'invoke_agent payments');
      const { port } = new URL(page.url);
      await using anew = await startPage({ db, port: Number(port), token: PAGE_TOKEN });
      await header('Live');
      await view.evaluate(`location.hash = '#/tools'`);
      await shows(view, 'send_payment');
      assert.equal(new URL(anew.url).port, port);
      assert.deepEqual(
        view.complaints.filter(
          (complaint) => !/status of 503|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE/u.test(complaint),
        ),
        [],
      );
    });
  });

  test('a slow view loads while runs keep arriving, and a run is sent again only when it has changed', async () => {
    await using server = await startPostgres();
    const url = await server.createMigrated();
    await using real = await openDatabase({ url });
    const exporter = new PostgresSpanExporter({ connection: url });
    await exportSpans(exporter, PAYMENT);
    // Each reading of spans takes longer than the time between two changes.
    const db: Database = {
      ...real,
      readOnly: async (statements, how) => {
        if (statements.some(({ text }) => text.includes('row_to_json(s)'))) await sleep(1500);
        return real.readOnly(statements, how);
      },
    };
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    const stop = new AbortController();
    const arrivals = (async () => {
      for (let i = 0; !stop.signal.aborted; i += 1) {
        await exportSpans(exporter, runOf(50_000 + i, 0, [{ name: `other ${i}`, at: 0, ms: 10 }]));
        await sleep(250);
      }
    })();
    const address = `api/runs/${'1'.padStart(32, '0')}`;
    await visit(`${page.url}#/run/${'1'.padStart(32, '0')}`, async (view) => {
      await shows(view, '3 tool calls, 1 failed');
      const sent = async () =>
        (await view.evaluate(
          `performance.getEntriesByType('resource').filter((one) => one.name.includes('${address}?'))
            .map((one) => one.decodedBodySize)`,
        )) as readonly number[];
      await waitUntil(async () => (await sent()).length >= 4, PATIENCE_MS);
      const [first = 0, ...later] = await sent();
      assert.ok(first > 0);
      assert.ok(
        later.every((bytes) => bytes === 0),
        String(later),
      );
    });
    stop.abort();
    await arrivals;
    await exporter.shutdown();
  });

  test('eight tabs of one browser load and follow what arrives, also when the one that listens is gone', async () => {
    await using server = await startPostgres();
    const url = await server.createMigrated();
    await using db = await openDatabase({ url });
    await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
    const exporter = new PostgresSpanExporter({ connection: url });
    const arrive = (trace: number) =>
      exportSpans(exporter, runOf(trace, 0, [{ name: `arrival ${trace}`, at: 0, ms: 10 }]));
    await arrive(1);
    await visit(page.url, async (view) => {
      await shows(view, 'arrival 1');
      const tabs = [{ evaluate: view.evaluate }];
      while (tabs.length < 8) {
        const tab = { evaluate: await view.openTab(new URL(page.url).origin) };
        await shows(tab, 'arrival 1');
        tabs.push(tab);
      }
      await arrive(2);
      for (const tab of tabs) await shows(tab, 'arrival 2');
      await view.open('about:blank');
      await arrive(3);
      for (const tab of tabs.slice(1)) await shows(tab, 'arrival 3');
    });
    await exporter.shutdown();
  });
});
