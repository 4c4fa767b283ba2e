/** Decisions, changed definitions, costs by tool and the pause in a real browser, wide and narrow, light and dark. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresReviewQueue } from '../src/approvals/index.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { migrate, openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { noChromium, type Visit, visit } from './support/chromium.ts';
import { exportSpans } from './support/export.ts';
import { decideOldest, HELD_CALL, HELD_POLICY, HELD_TOOLS } from './support/held-call.ts';
import { PAGE_TOKEN } from './support/page-token.ts';
import { noPostgres, type PostgresServer, startOwnPostgres } from './support/postgres-server.ts';
import { rollUpAll } from './support/roll-up.ts';
import { CHANGED, chat, PAYMENT, RETRIED, runOf, STORY, tool } from './support/seeded-runs.ts';
import { waitUntil } from './support/wait-until.ts';
import { startWebhook } from './support/webhook.ts';

const PATIENCE_MS = 60_000;
const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>\u202e\u0007';
/** A picture of one pixel, PNG. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
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
    await rollUpAll(db);
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
      [`#/run/${'7'.padStart(32, '0')}`]: 'Raw JSON-RPC',
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

  test('the finding of an answer leads to the call that shows it', async () => {
    await visit(`${page.url}#/run/${'7'.padStart(32, '0')}`, async (view) => {
      await shows(view, 'send_payment failed: card_declined');
      const call = await view.evaluate(
        `[...document.querySelectorAll('.call[data-span]')].find((line) => line.innerText.includes('card_declined')).dataset.span`,
      );
      await view.evaluate(`document.querySelector('.finds a').click()`);
      await waitUntil(
        async () => String(await view.evaluate('location.hash')).includes(`span=${call}`),
        PATIENCE_MS,
      );
      await waitUntil(
        async () =>
          String(
            await view.evaluate(`document.querySelector('.call[aria-current=true]')?.dataset.span ?? ''`),
          ) === call,
        PATIENCE_MS,
      );
      assert.deepEqual(view.complaints, []);
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
      // Sooner it decides nothing.
      await sleep(700);
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
      // A request for the list that is begun before the pause, and answered during it.
      await view.evaluate(`{
        const send = window.fetch;
        window.held = [];
        window.fetch = (...request) =>
          window.held === undefined || !String(request[0]).startsWith('/api/runs?')
            ? send(...request)
            : new Promise((sent) => window.held.push(() => sent(send(...request))));
      }`);
      await exportSpans(exporter, runOf(92, 5, [{ name: 'came before', at: 0, ms: 5 }]));
      await waitUntil(async () => Number(await view.evaluate('window.held.length')) > 0, PATIENCE_MS);
      await click(view, 'Live');
      await shows(view, 'Paused');
      await exportSpans(exporter, runOf(90, -0.2, [{ name: 'came meanwhile', at: 0, ms: 5 }]));
      await shows(view, '1 new');
      await view.evaluate('window.held.splice(0).map((send) => send())');
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      assert.equal((await text(view)).includes('came meanwhile'), false);
      await view.evaluate('window.held = undefined');
      await click(view, 'Paused');
      await shows(view, 'came meanwhile');
    });
  });

  test('a run is compared with the last of its prompt, what stands out is read whole, and a menu closes', async () => {
    const hex = (n: number) => n.toString(16).padStart(32, '0');
    const asked = chat({ attributes: { 'observatory.prompt_hash': 'd'.repeat(64) } });
    for (const [n, minutes] of [
      [95, 30],
      [96, 10],
    ] as const)
      await exportSpans(exporter, runOf(n, minutes, [{ name: 'rent', at: 0, ms: 9 }, asked]));
    await exportSpans(exporter, runOf(97, 10 * 24 * 60, [{ name: 'long ago', at: 0, ms: 9 }]));
    await visit(`${page.url}#/run/${hex(96)}`, async (view) => {
      await shows(view, '1 other run of the same prompt');
      await view.evaluate(`[...document.querySelectorAll('.acts a')].at(-1).click()`);
      await waitUntil(
        async () => String(await view.evaluate('location.hash')).includes(`b=${hex(95)}`),
        PATIENCE_MS,
      );
      await shows(view, 'Tokens in');
      // Older than all that is offered, and named all the same.
      await view.evaluate(`location.hash = '#/compare?a=${hex(96)}&b=${hex(97)}'`);
      const picked = `document.querySelector('#pick-b')?.selectedOptions[0]?.text ?? ''`;
      await waitUntil(async () => String(await view.evaluate(picked)).includes('long ago'), PATIENCE_MS);
      await view.evaluate(`location.hash = '#/runs?range=30d'`);
      await shows(view, 'long ago');
      const isCut = 'one.scrollWidth > one.clientWidth';
      const cut = await view.evaluate(
        `[...document.querySelectorAll('td.c-t, [data-run="${hex(7)}"] .outs > *')].filter((one) => ${isCut}).map((one) => one.innerText)`,
      );
      assert.deepEqual(cut, []);
      await click(view, 'Share');
      const isOpen = () => view.evaluate('document.querySelector("details[open]") !== null');
      assert.equal(await isOpen(), true);
      await view.evaluate(
        `document.querySelector('main').dispatchEvent(new Event('pointerdown', { bubbles: true }))`,
      );
      assert.equal(await isOpen(), false);
    });
  });

  test('a run is searched, labelled and read as the model saw it; a view is kept, and its threshold told', async () => {
    await using hook = await startWebhook();
    const { posted } = hook;
    const messages = [
      { role: 'system', parts: [{ type: 'text', content: 'You count apples.' }] },
      {
        role: 'user',
        parts: [
          { type: 'text', content: 'How many apples?' },
          { type: 'blob', modality: 'image', mime_type: 'image/png', content: PIXEL },
        ],
      },
    ];
    const answer = `## Apples\n\n- **three** of ${HOSTILE}\n\n| kind | count |\n|---|---|\n| red | 3 |`;
    await exportSpans(
      exporter,
      runOf(91, 1, [
        { name: 'invoke_agent counter', at: 0, ms: 90 },
        chat({
          attributes: {
            'observatory.prompt_hash': 'c'.repeat(64),
            'gen_ai.input.messages': JSON.stringify(messages),
            'gen_ai.output.messages': JSON.stringify([
              { role: 'assistant', parts: [{ type: 'text', content: answer }] },
            ]),
            'gen_ai.tool.definitions': JSON.stringify([{ type: 'function', name: 'weigh_apples' }]),
          },
        }),
        tool('peel'),
      ]),
    );
    await using told = await startPage({
      db,
      port: 0,
      token: PAGE_TOKEN,
      webhook: { url: `${hook.origin}/` },
    });
    const query = (view: Visit, expression: string) => view.evaluate(expression);
    const fill = (view: Visit, name: string, value: string) =>
      view.evaluate(`{ const field = document.querySelector('[name=${name}]');
        field.value = ${JSON.stringify(value)};
        field.dispatchEvent(new Event('input', { bubbles: true })); }`);
    await visit(`${told.url}#/run/${(91).toString(16).padStart(32, '0')}`, async (view) => {
      await shows(view, 'Apples');
      assert.deepEqual(
        await query(
          view,
          `['.md .mdh', '.md li b', '.md td'].map((s) => document.querySelector(s)?.innerText)`,
        ),
        ['Apples', 'three', 'red'],
      );
      assert.equal((await text(view)).includes('Keep as golden'), false);
      await query(view, `document.querySelector('[data-span]').click()`);
      await shows(view, 'You count apples.');
      assert.equal(await query(view, `document.querySelector('.panel img').naturalWidth`), 1);
      await query(view, `document.querySelector('.panel summary').click()`);
      await shows(view, 'weigh_apples');

      await query(view, `document.querySelector('[type=search]').focus()`);
      for (const key of 'peel') await view.press(key);
      await view.press('Enter');
      await shows(view, '1 span');
      await click(view, 'Next');
      await shows(view, '1 of 1 span');
      assert.equal(await query(view, `document.querySelector('.panel h2').innerText`), 'bank.peel');

      await click(view, 'Note');
      await fill(view, 'labels', 'fruit, to check');
      await fill(view, 'note', HOSTILE);
      await click(view, 'Save');
      await shows(view, 'to check');
      await query(view, `document.querySelector('.beside .lab').click()`);
      await waitUntil(
        async () => (await query(view, `document.querySelectorAll('[data-run]').length`)) === 1,
        PATIENCE_MS,
      );

      // What is saved as a file is kept here instead.
      await query(
        view,
        `URL.createObjectURL = (blob) => (blob.text().then((file) => { window.file = file; }), '#')`,
      );
      await click(view, 'Share');
      await click(view, 'CSV');
      await waitUntil(async () => (await query(view, 'window.file')) !== undefined, PATIENCE_MS);
      assert.match(String(await query(view, 'window.file')), /^id,name,.+\r\n"0{30}5b","How many apples\?"/u);

      await click(view, 'Views');
      await shows(view, 'No saved views yet');
      // It cannot be compared, and keeps no other from it.
      await db.query(`SELECT mcp_views_save('Z', 'q=nonsense%3Ax', 'cost', 1, 'page')`);
      await fill(view, 'name', 'Fruit');
      await fill(view, 'above', '0.001');
      await query(view, `document.querySelector('[name=measure]').value = 'cost'`);
      await query(view, `document.querySelector('[name=above]').form.requestSubmit()`);
      await shows(view, 'above $0.001 a day');
      await waitUntil(() => posted.some(({ type }) => type === 'threshold_crossed'), PATIENCE_MS);
      await query(view, `location.hash = '#/runs'`);
      await shows(view, 'payments-agent');
      await query(view, `document.querySelector('.bar .menu a').click()`);
      await waitUntil(
        async () => (await query(view, `document.querySelectorAll('[data-run]').length`)) === 1,
        PATIENCE_MS,
      );
      assert.equal(await query(view, 'document.title.endsWith("mcp-observatory")'), true);
      assert.deepEqual(view.complaints, []);
    });
    const { page: address, value, ...alert } = posted.find(({ type }) => type === 'threshold_crossed') ?? {};
    assert.deepEqual(alert, {
      type: 'threshold_crossed',
      view: 'Fruit',
      filter: 'label:fruit',
      measure: 'cost',
      threshold: 0.001,
      hours: 24,
    });
    assert.equal(value, 0.01);
    assert.match(String(address), /#\/runs\?q=label%3Afruit$/u);
  });
});
