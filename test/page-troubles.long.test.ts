/** What the page says in a real browser when something is wrong, and what to do. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { migrate, openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { noChromium, type Visit, visit } from './support/chromium.ts';
import { exportSpans } from './support/export.ts';
import { PAGE_TOKEN } from './support/page-token.ts';
import { noPostgres, startOwnPostgres } from './support/postgres-server.ts';
import { PAYMENT } from './support/seeded-runs.ts';
import { waitUntil } from './support/wait-until.ts';

const PATIENCE_MS = 60_000;

describe('a page with troubles', { skip: noChromium() || noPostgres() }, () => {
  const shows = async (view: Visit, words: string) => {
    const text = async () => String(await view.evaluate('document.querySelector("main").innerText'));
    try {
      await waitUntil(async () => (await text()).includes(words), PATIENCE_MS);
    } catch {
      assert.fail(`not '${words}' but ${(await text()).slice(0, 2000)}`);
    }
  };
  const tryAgain = (view: Visit) =>
    view.evaluate(
      '[...document.querySelectorAll("button")].find((one) => one.textContent === "Try again").click()',
    );

  test('without tables, without rows, without a database, and with all of it back', async (context) => {
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
      await tryAgain(view);
      await shows(view, 'Nothing has arrived in this range');
      await shows(view, 'OTEL_EXPORTER_OTLP_ENDPOINT');
      const exporter = new PostgresSpanExporter({ connection: url });
      await exportSpans(exporter, PAYMENT);
      await exporter.shutdown();
      await shows(view, 'invoke_agent payments');
      await crash();
      for (const hash of ['#/tools', '#/cost', `#/run/${'1'.padStart(32, '0')}`, '#/runs']) {
        await view.evaluate(`location.hash = '${hash}'`);
        await shows(view, 'The database cannot be reached');
        await shows(view, 'npx mcp-observatory db status');
      }
      await restart();
      await tryAgain(view);
      await shows(view, 'invoke_agent payments');
      assert.deepEqual(
        view.complaints.filter((complaint) => !complaint.includes('status of 503')),
        [],
      );
    });
  });
});
