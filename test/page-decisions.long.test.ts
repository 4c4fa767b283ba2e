/** Decisions, changed definitions, costs by tool and the pause in a real browser, wide and narrow, light and dark. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { PostgresReviewQueue } from '../src/approvals/index.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { migrate, openDatabase, PostgresSpanExporter, refreshRollups } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { noChromium, type Visit, visit } from './support/chromium.ts';
import { exportSpans } from './support/export.ts';
import { decideOldest, HELD_CALL, HELD_POLICY, HELD_TOOLS } from './support/held-call.ts';
import { PAGE_TOKEN } from './support/page-token.ts';
import { noPostgres, type PostgresServer, startOwnPostgres } from './support/postgres-server.ts';
import { CHANGED, PAYMENT, RETRIED, runOf, STORY } from './support/seeded-runs.ts';
import { waitUntil } from './support/wait-until.ts';

const PATIENCE_MS = 60_000;
const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>\u202e\u0007';
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

describe('decisions and figures in a browser', { skip: noChromium() || noPostgres() }, () => {
  let server: PostgresServer;
  let db: Awaited<ReturnType<typeof openDatabase>>;
  let exporter: PostgresSpanExporter;
  let queue: PostgresReviewQueue;
  let page: Awaited<ReturnType<typeof startPage>>;
  let standing = '';
  before(async () => {
    server = await startOwnPostgres();
    db = await openDatabase({ url: server.url });
    await migrate(db);
    exporter = new PostgresSpanExporter({ connection: server.url });
    for (const spans of [PAYMENT, RETRIED, STORY, CHANGED]) await exportSpans(exporter, spans);
    await refreshRollups(db);
    queue = new PostgresReviewQueue({ connection: db });
    await hold('alice', 'session-1');
    standing = await decideOldest(queue, 'approve', HOSTILE, 'session');
    await hold(HOSTILE, HOSTILE);
    page = await startPage({ db, port: 0, token: PAGE_TOKEN });
  });
  after(async () => {
    await page?.close();
    await exporter?.shutdown();
    await db?.close();
    await server?.[Symbol.asyncDispose]();
  });
  const hold = async (caller: string, sessionId: string) => {
    using gate = new PolicyGate({ policy: HELD_POLICY, tools: HELD_TOOLS, approvals: { queue } });
    await gate.authorize({ ...HELD_CALL, caller, sessionId, args: { to: HOSTILE, amount: 2 } });
  };
  const text = async (view: Visit) => String(await view.evaluate('document.body.innerText'));
  const shows = (view: Visit, words: string) =>
    waitUntil(async () => (await text(view)).includes(words), PATIENCE_MS);
  const click = (view: Visit, words: string) =>
    view.evaluate(
      `[...document.querySelectorAll('button, summary')].find((b) => b.innerText.includes(${JSON.stringify(words)})).click()`,
    );

  test('every view, wide and narrow, light and dark: nothing serious, nothing runs, nothing scrolls sideways', async () => {
    const views: Readonly<Record<string, string>> = {
      '#/runs': 'payments-agent',
      [`#/run/${'7'.padStart(32, '0')}`]: 'Keep as golden',
      [`#/run/${'7'.padStart(32, '0')}/waterfall`]: 'send_payment',
      '#/tools': 'changed definitions',
      '#/tools?by=client': 'changed definitions',
      '#/cost?by=tool': 'messages, results and answers',
      '#/cost?by=model': 'unpriced',
      '#/waiting': 'Approved for more than one call',
      [`#/waiting/${standing}`]: 'Revoke',
      [`#/compare?a=${'1'.padStart(32, '0')}&b=${'7'.padStart(32, '0')}`]: 'Tokens in',
    };
    await visit(page.url, async (view) => {
      await view.evaluate(`${AXE}; undefined`);
      const all: string[] = [];
      for (const width of [1280, 390]) {
        for (const colors of ['light', 'dark'] as const) {
          await view.show(width, 844, colors);
          for (const [hash, words] of Object.entries(views)) {
            await view.evaluate(`location.hash = ${JSON.stringify(hash)}`);
            await shows(view, words);
            await view.evaluate(
              'document.querySelectorAll("details").forEach((one) => { one.open = true; })',
            );
            const faults =
              await view.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
              violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
                .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map((node) => node.html.slice(0, 200) + ' ' + (node.any[0]?.message ?? '')).join(' | ')))`);
            const where = `${hash} ${width} ${colors}`;
            for (const fault of faults as string[]) all.push(`${where} ${fault}`);
            const scroll = Number(await view.evaluate('document.documentElement.scrollWidth'));
            if (scroll > width) all.push(`${where} is ${scroll} wide`);
            if (Number(await view.evaluate('document.querySelectorAll("main img, main script").length')) > 0)
              all.push(`${where} has foreign elements`);
          }
        }
      }
      assert.deepEqual(all, []);
      assert.deepEqual(view.complaints, []);
    });
  });

  test('a changed definition is shown as a difference', async () => {
    await visit(`${page.url}#/tools`, async (view) => {
      await shows(view, '2 changed definitions');
      await view.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true; })');
      await shows(view, 'Only hashes are stored');
      const added = await view.evaluate(
        '[...document.querySelectorAll(".changed ins")].map((one) => one.innerText).join("")',
      );
      assert.match(String(added), /<img src=x.*id_rsa/);
    });
  });

  test('an approval for the session is given and revoked in place', async () => {
    await visit(`${page.url}#/waiting/${standing}`, async (view) => {
      await shows(view, 'Revoke');
      await click(view, 'Revoke');
      await shows(view, 'It was ended by page');
      await view.evaluate('location.hash = "#/waiting"');
      await shows(view, 'Approval holds');
      await view.evaluate('document.querySelector(".scope select").value = "session"');
      await click(view, 'Approve');
      await waitUntil(async () => {
        const { rows } = await db.query(
          `SELECT FROM mcp_reviews WHERE scope = 'session' AND decided_by = 'page'`,
        );
        return rows.length === 1;
      }, PATIENCE_MS);
      assert.deepEqual(view.complaints, []);
    });
  });

  test('while it is paused the page counts new runs and does not show them', async () => {
    await visit(`${page.url}#/runs`, async (view) => {
      await shows(view, 'payments-agent');
      await click(view, 'Live');
      await shows(view, 'Paused');
      await exportSpans(exporter, runOf(90, -0.2, [{ name: 'came meanwhile', at: 0, ms: 5 }]));
      await shows(view, '1 new');
      assert.equal((await text(view)).includes('came meanwhile'), false);
      await click(view, 'Paused');
      await shows(view, 'came meanwhile');
    });
  });

  test('a run that cannot be a golden says what to do', async () => {
    await visit(`${page.url}#/run/${'1'.padStart(32, '0')}`, async (view) => {
      await shows(view, 'Keep as golden');
      await click(view, 'Keep as golden');
      await shows(view, 'golden from-trace');
    });
  });
});
