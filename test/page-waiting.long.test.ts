/** The view Waiting in a real browser: one decides, the other sees it; what waits cannot do anything there. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresReviewQueue } from '../src/approvals/index.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { migrate, openDatabase } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { noChromium, type Visit, visit } from './support/chromium.ts';
import { makeGatedRuns } from './support/gated-runs.ts';
import { HELD_CALL, HELD_POLICY, HELD_TOOLS } from './support/held-call.ts';
import { PAGE_TOKEN } from './support/page-token.ts';
import { noPostgres, type PostgresServer, startOwnPostgres } from './support/postgres-server.ts';
import { waitUntil } from './support/wait-until.ts';

const PATIENCE_MS = 60_000;
const HOSTILE = '<img src=x onerror="document.title=1">\u202e';

describe('Waiting in a browser', { skip: noChromium() || noPostgres() }, () => {
  let server: PostgresServer;
  let db: Awaited<ReturnType<typeof openDatabase>>;
  let queue: PostgresReviewQueue;
  let page: Awaited<ReturnType<typeof startPage>>;
  before(async () => {
    server = await startOwnPostgres();
    db = await openDatabase({ url: server.url });
    await migrate(db);
    queue = new PostgresReviewQueue({ connection: db });
    page = await startPage({ db, port: 0, token: PAGE_TOKEN });
  });
  after(async () => {
    await page?.close();
    await db?.close();
    await server?.[Symbol.asyncDispose]();
  });
  const hold = async (caller: string, args: Record<string, unknown> = HELD_CALL.args) => {
    using gate = new PolicyGate({ policy: HELD_POLICY, tools: HELD_TOOLS, approvals: { queue } });
    const { message } = await gate.authorize({ ...HELD_CALL, caller, args });
    return /[0-9a-f-]{36}/u.exec(message)?.[0] ?? '';
  };
  const text = async (view: Visit) => String(await view.evaluate('document.body.innerText'));
  const shows = (view: Visit, words: string) =>
    waitUntil(async () => (await text(view)).includes(words), PATIENCE_MS);
  const isTitled = (view: Visit, words: string) =>
    waitUntil(async () => String(await view.evaluate('document.title')).startsWith(words), PATIENCE_MS);
  const statusOf = async (id: string) => (await queue.get(id)).status;

  test('nothing waits, then a call appears by itself, is approved in one browser and seen in the other', async () => {
    await visit(`${page.url}#/waiting`, async (one) => {
      await shows(one, 'Nothing waits');
      const id = await hold('alice', { to: HOSTILE, amount: 250 });
      await shows(one, 'send_payment');
      await isTitled(one, '(1) Waiting');
      await shows(one, '<img src=x');
      assert.equal(await one.evaluate('document.querySelectorAll("main img, main script").length'), 0);
      await visit(`${page.url}#/waiting/${id}`, async (other) => {
        await shows(other, 'Approve');
        // A click right after it came on screen would decide nothing.
        await sleep(700);
        await one.evaluate(
          '[...document.querySelectorAll("button")].find((b) => b.innerText.includes("Approve")).click()',
        );
        await shows(other, 'by somebody on the page');
        // The first page was asked for no request of its own: the decided one leaves its place to the next.
        await shows(one, 'Nothing waits');
        await shows(one, 'Decided');
        assert.equal(await other.evaluate('document.querySelectorAll(".decide").length'), 0);
        assert.deepEqual(other.complaints, []);
      });
      assert.equal(await statusOf(id), 'approved');
      await isTitled(one, 'Waiting');
      assert.deepEqual(one.complaints, []);
    });
  });

  test('keys go through what waits and reject with a note', async () => {
    const first = await hold('bob');
    const second = await hold('carol');
    await visit(`${page.url}#/waiting`, async (view) => {
      await shows(view, 'carol');
      // The keys work once the page listens, which it may not at the first press.
      await waitUntil(async () => {
        await view.press('j');
        return String(await view.evaluate('location.hash')).includes(second);
      }, PATIENCE_MS);
      await shows(view, 'Who asks');
      // Without a pause it decides nothing.
      for (let i = 0; i < 12; i += 1) {
        await view.press('x');
        await sleep(100);
      }
      assert.equal(await statusOf(second), 'pending');
      // The key works once the request has been looked at for a moment.
      await waitUntil(async () => {
        await sleep(700);
        await view.press('x');
        return (await statusOf(second)) === 'rejected';
      }, PATIENCE_MS);
      await shows(view, 'by somebody on the page');
      assert.equal(await statusOf(first), 'pending');
      await view.press('k');
      await shows(view, 'bob');
    });
  });

  test('a click as the window comes to the front decides nothing and says so; the next one decides', async () => {
    const id = await hold('erin');
    await visit(`${page.url}#/waiting/${id}`, async (view) => {
      const click = () => view.evaluate('document.querySelector(".decide .pri").click()');
      await shows(view, 'Approve');
      await sleep(700);
      await view.evaluate('dispatchEvent(new Event("focus"))');
      await click();
      await shows(view, 'Nothing was decided');
      assert.equal(await statusOf(id), 'pending');
      await sleep(700);
      await click();
      await shows(view, 'by somebody on the page');
      assert.equal(await statusOf(id), 'approved');
    });
  });

  test('a run that waits is opened at the call that waits, by a real gate', async () => {
    const { rent } = await makeGatedRuns(db, { rent: ['balance', 'pay'] });
    await visit(`${page.url}#/run/${rent}`, async (view) => {
      await shows(view, 'waits for you: decide');
      assert.equal(await view.evaluate('document.querySelector(".panel h2").innerText'), 'bank.pay');
      await view.evaluate('document.querySelector(".explain .s-held").closest("a").click()');
      await shows(view, 'A policy holds this call until a person decides');
    });
  });

  test('narrow, nothing scrolls sideways', async () => {
    await hold('dora', { to: 'x'.repeat(3000), amount: 1 });
    await visit(`${page.url}#/waiting`, async (view) => {
      await view.show(390, 844, 'dark');
      await shows(view, 'dora');
      assert.ok(Number(await view.evaluate('document.documentElement.scrollWidth')) <= 390);
    });
  });
});
