/** `up` in a real browser: what is sent is seen, and what is sent cannot do anything there. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { noChromium, type Visit, visit } from './support/chromium.ts';
import { post } from './support/http-post.ts';
import { encodeJson } from './support/otlp-encode.ts';
import { PAGE_TOKEN } from './support/page-token.ts';
import { chat, PAYMENT, RETRIED, runOf, SHADOW, tool } from './support/seeded-runs.ts';
import { tempDir } from './support/temp-dir.ts';
import { waitUntil } from './support/wait-until.ts';

const MAIN = fileURLToPath(new URL('../lib/cli.js', import.meta.url));
const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>\u202e\u0007';
const PATIENCE_MS = 60_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const GOLDENS = fileURLToPath(new URL('../../goldens', import.meta.url));

const SVG = `<svg onload="document.title=3"><image href="data:image/svg+xml,x"/></svg>`;
const HUGE = `${HOSTILE}${'x'.repeat(3000)}`;
const message = (role: string, content: string) =>
  JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);
/** What a hostile server or model can choose, in every field that a view shows. */
const HOSTILE_RUN = runOf(50, 2, [
  {
    name: HOSTILE,
    at: 0,
    ms: 900,
    attributes: {
      'user.id': HOSTILE,
      'observatory.client_name': HOSTILE,
      'gen_ai.conversation.id': HOSTILE,
      'mcp.session.id': HOSTILE,
    },
  },
  chat({
    attributes: {
      'gen_ai.request.model': HUGE,
      'gen_ai.provider.name': HOSTILE,
      'gen_ai.input.messages': message('user', HOSTILE),
      'gen_ai.output.messages': message('assistant', HOSTILE),
      'gen_ai.response.finish_reasons': [HOSTILE],
      'observatory.evidence_risk_level': 'high',
      'observatory.evidence_findings': JSON.stringify([{ kind: HOSTILE, start: 0, end: 9, step: 0 }]),
    },
  }),
  tool(HOSTILE, {
    at: 200,
    error: HOSTILE,
    attributes: {
      'observatory.server_name': HOSTILE,
      'jsonrpc.request.id': HOSTILE,
      'gen_ai.tool.call.arguments': JSON.stringify({ [HOSTILE]: HOSTILE, icon: SVG }),
      'gen_ai.tool.call.result': JSON.stringify({ content: [{ type: 'text', text: HOSTILE }], icons: [SVG] }),
    },
  }),
  tool(HOSTILE, {
    at: 300,
    error: HOSTILE,
    attributes: {
      'observatory.policy_decision': 'deny',
      'observatory.policy_reason': HOSTILE,
      'observatory.gate_blocked': true,
    },
  }),
  tool(HUGE, { at: 400, attributes: { 'observatory.server_name': HUGE, [HOSTILE]: SVG } }),
]);
const HUGE_RUN = runOf(53, 4, [
  { name: 'a huge payload', at: 0, ms: 100 },
  tool('dump', {
    attributes: { 'gen_ai.tool.call.result': JSON.stringify({ rows: 'row '.repeat(50_000) }) },
  }),
]);
const LONG_RUN = runOf(51, 3, [
  { name: 'a long run', at: 0, ms: 60_000 },
  ...Array.from({ length: 9999 }, (_, i) => tool(`step_${i % 7}`, { at: i * 6, ms: 5 })),
]);
const LATE_RUN = runOf(52, 0, [{ name: 'comes while somebody looks', at: 0, ms: 5 }]);

describe('up in a browser', { skip: noChromium() }, () => {
  let child: ChildProcess;
  let page = '';
  let otlp = '';
  let env: NodeJS.ProcessEnv;
  const send = async (spans: readonly ReadableSpan[]) => {
    for (let i = 0; i < spans.length; i += 2000) {
      const body = encodeJson(spans.slice(i, i + 2000));
      const { status } = await post(`${otlp}/v1/traces`, { 'content-type': 'application/json' }, body);
      assert.equal(status, 200);
    }
  };
  const dataDir = tempDir();
  before(async () => {
    const ports = ['--port', '0', '--http-port', '0', '--grpc-port', '0'];
    env = {
      ...process.env,
      DATABASE_URL: '',
      MCP_OBSERVATORY_DATABASE_URL: '',
      MCP_OBSERVATORY_PAGE_TOKEN: PAGE_TOKEN,
      XDG_STATE_HOME: tempDir(),
    };
    child = spawn(
      process.execPath,
      [MAIN, 'up', '--json', '--data-dir', dataDir, '--capture-content', '--goldens', GOLDENS, ...ports],
      { stdio: ['ignore', 'pipe', 'inherit'], env },
    );
    const [line] = (await once(
      createInterface({ input: child.stdout as NodeJS.ReadableStream }),
      'line',
    )) as [string];
    ({ page, http: otlp } = JSON.parse(line) as { page: string; http: string });
    for (const spans of [PAYMENT, RETRIED, SHADOW, HOSTILE_RUN, HUGE_RUN, LONG_RUN]) await send(spans);
  });
  after(async () => {
    child.kill('SIGINT');
    await once(child, 'exit');
    assert.equal(child.exitCode, 0);
  });

  const shows = async (view: Visit, words: string) => {
    const text = async () => String(await view.evaluate('document.body.innerText'));
    try {
      await waitUntil(async () => (await text()).includes(words), PATIENCE_MS);
    } catch {
      const hash = String(await view.evaluate('location.hash'));
      assert.fail(`${hash} does not show '${words}' but ${(await text()).slice(0, 2000)}`);
    }
  };
  const go = (view: Visit, hash: string) => view.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  const idOf = (n: number) => n.toString(16).padStart(32, '0');

  test('each view shows what was sent, as text, and loads nothing from elsewhere', async () => {
    await visit(page, async (view) => {
      await shows(view, 'invoke_agent payments');
      await shows(view, '<img src=x');
      await go(view, `#/run/${idOf(1)}`);
      await shows(view, '1 denied (delete_all: not_allowed)');
      await go(view, `#/run/${idOf(1)}/waterfall`);
      await shows(view, 'send_payment');
      await go(view, `#/run/${idOf(50)}`);
      await shows(view, '1 failed');
      await go(view, '#/tools');
      await shows(view, 'get_balance');
      await go(view, '#/cost');
      await shows(view, 'gpt-4o');
      await go(view, `#/compare?a=${idOf(1)}&b=${idOf(2)}`);
      await shows(view, 'Tokens in');
      await go(view, `#/run/${idOf(77)}`);
      await shows(view, 'It may have been pruned');
      assert.equal(await view.evaluate('document.querySelectorAll("main img, main script").length'), 0);
      assert.match(String(await view.evaluate('document.title')), /mcp-observatory$/);
      const own = new URL(page).origin;
      assert.deepEqual(
        view.requests.filter((url) => !url.startsWith(own) && !url.startsWith('data:')),
        [],
      );
      // A browser logs every answer that is no success; the unknown run is the only one.
      const complaints = view.complaints.filter((text) => !text.includes(idOf(77)));
      assert.deepEqual(complaints, []);
    });
  });

  test('the filter is in the address, and the keys lead to a run and back', async () => {
    await visit(`${page}#/runs?q=tool%3Apay`, async (view) => {
      await shows(view, '1 run.');
      assert.equal(await view.evaluate('document.getElementById("filter").value'), 'tool:pay');
      await view.press('Enter');
      await shows(view, 'Conversation');
      assert.match(String(await view.evaluate('location.hash')), /^#\/run\/0{31}1/);
      await view.press('2');
      await waitUntil(async () => String(await view.evaluate('location.hash')).includes('/waterfall'));
      await view.press('Escape');
      await shows(view, 'What stands out');
      assert.equal(await view.evaluate('document.getElementById("filter").value'), 'tool:pay');
      await go(view, '#/runs');
      await shows(view, 'nightly report');
      await view.press('/');
      assert.equal(await view.evaluate('document.activeElement.id'), 'filter');
      for (const key of 'toll:zzz ') await view.press(key);
      await shows(view, "No field is called 'toll'");
      await view.evaluate('document.querySelector(".problem button").click()');
      await waitUntil(async () => String(await view.evaluate('location.hash')).includes('q=tool%3Azzz'));
      await shows(view, 'No run matches');
    });
  });

  test('a run appears while somebody looks, and 10,000 spans are a few rows', async () => {
    await visit(page, async (view) => {
      await shows(view, 'invoke_agent payments');
      await send(LATE_RUN);
      await shows(view, 'comes while somebody looks');
      await go(view, `#/run/${idOf(51)}/waterfall`);
      await shows(view, '10,000 spans');
      const rows = Number(await view.evaluate('document.querySelectorAll(".wr").length'));
      assert.ok(rows > 20 && rows < 200, `${rows} rows`);
      await view.evaluate('scrollTo(0, 140000)');
      await waitUntil(
        async () => Number(await view.evaluate('document.querySelectorAll(".wr").length')) < 200,
      );
      await shows(view, 'step_3');
      for (const tab of ['conversation', 'raw']) {
        await go(view, `#/run/${idOf(51)}/${tab}`);
        await shows(view, 'step_3');
        const shown = 'document.querySelectorAll("#tabpanel .call, #tabpanel .rr, #tabpanel .msg").length';
        const count = Number(await view.evaluate(shown));
        assert.ok(count > 20 && count < 200, `${count} rows in ${tab}`);
      }
    });
  });

  const [one, two] = [idOf(1), idOf(2)];
  /** The second span of the run. */
  const HUGE_SPAN = `#/run/${idOf(53)}?span=${(53_002).toString(16).padStart(16, '0')}`;
  const VIEWS: Readonly<Record<string, string>> = {
    '#/runs': 'invoke_agent payments',
    '#/runs?by=session': 'no session known',
    '#/runs?q=tool%3Azzz': 'No run matches',
    '#/start': 'Gemini CLI',
    [`#/run/${one}`]: 'Answer',
    [`#/run/${one}/waterfall`]: 'send_payment',
    [`#/run/${one}/raw`]: 'never sent',
    [`#/run/${idOf(50)}`]: '1 failed',
    [`#/run/${idOf(50)}/waterfall`]: '<img',
    [`#/run/${idOf(50)}/raw`]: '<img',
    [HUGE_SPAN]: 'Show all',
    [`#/run/${idOf(77)}`]: 'It may have been pruned',
    '#/tools': 'get_balance',
    '#/tools?by=client': 'not known',
    '#/cost': 'gpt-4o',
    '#/cost?by=user': 'Total',
    [`#/compare?a=${one}&b=${two}`]: 'Tokens in',
    [`#/compare?a=${idOf(50)}&b=${two}`]: '<img',
    [`#/compare?kind=golden&a=openai/happy_path_customer_lookup&b=${one}`]: 'find_customer',
    '#/compare?kind=ranges&range=1h': 'Duration p95',
    [`#/compare?kind=shadow&b=${idOf(3)}`]: 'Tokens in',
  };

  test('no view has a fault of accessibility that is more than minor, in light or dark, and what others chose is text in each', async () => {
    await visit(page, async (view) => {
      await view.evaluate(`${AXE}; undefined`);
      const all: string[] = [];
      const check = async (name: string) => {
        const faults =
          await view.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
          violations.filter(({ impact }) => impact !== 'minor')
            .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map((node) => node.html.slice(0, 200) + ' ' + (node.any[0]?.message ?? '')).join(' | ')))`);
        for (const fault of faults as string[]) all.push(`${name} ${fault}`);
      };
      for (const colors of ['light', 'dark'] as const) {
        await view.show(1280, 800, colors);
        for (const [hash, words] of Object.entries(VIEWS)) {
          await go(view, hash);
          await shows(view, words);
          await check(`${hash} ${colors}`);
          const made = 'document.querySelectorAll("main img, main script, main image, main iframe").length';
          assert.equal(await view.evaluate(made), 0, hash);
          assert.match(String(await view.evaluate('document.title')), /mcp-observatory$/, hash);
          const width = Number(await view.evaluate('document.documentElement.scrollWidth'));
          assert.ok(width <= 1280, `${hash} is ${width} pixels wide`);
        }
        await go(view, '#/runs');
        await shows(view, 'What stands out');
        for (const layer of ['.pal', '.keys', '.sqlb']) {
          await view.evaluate(`document.querySelector('${layer}').click()`);
          await waitUntil(async () =>
            Boolean(await view.evaluate('document.querySelector("dialog[open]") !== null')),
          );
          await check(`${layer} ${colors}`);
          await view.press('Escape');
          await waitUntil(async () =>
            Boolean(await view.evaluate('document.querySelector("dialog[open]") === null')),
          );
        }
      }
      assert.deepEqual(all, []);
      const own = new URL(page).origin;
      assert.deepEqual(
        view.requests.filter((url) => !url.startsWith(own) && !url.startsWith('data:,')),
        [],
      );
      assert.deepEqual(
        view.complaints.filter((text) => !text.includes(idOf(77))),
        [],
      );
    });
  });

  test('the palette, the statements behind figures, and a payload as a whole', async () => {
    await visit(page, async (view) => {
      await shows(view, 'invoke_agent payments');
      await view.press('k', true);
      await waitUntil(async () => Boolean(await view.evaluate('document.activeElement?.id === "pq"')));
      for (const key of 'send_pay') await view.press(key);
      await shows(view, 'bank.send_payment');
      await view.press('Enter');
      await waitUntil(async () =>
        String(await view.evaluate('location.hash')).includes('q=tool%3Asend_payment'),
      );
      await shows(view, '1 run.');
      await view.evaluate('document.querySelector(".sqlb").click()');
      await shows(view, "ILIKE '%send\\_payment%'");
      await view.press('Escape');
      await go(view, HUGE_SPAN);
      await shows(view, '200.0k characters, the first 4,096');
      await view.evaluate(
        '[...document.querySelectorAll(".panel .lnk")].find((one) => one.textContent === "Show all").click()',
      );
      await shows(view, 'Download all');
    });
  });

  test('commands beside it read its store, the demo sends its spans there, and what writes says where to go', async () => {
    const run = (...args: string[]) =>
      promisify(execFile)(process.execPath, [MAIN, ...args, '--data-dir', dataDir], { env });
    const { stdout } = await run('demo');
    const [, trace] = /Trace ([0-9a-f]{32})/.exec(stdout) ?? [];
    assert.match(stdout, /send_payment/);
    // What the demo is about is on the page: why its call failed, and the part of the answer that says otherwise.
    await visit(`${page}#/run/${trace}`, async (view) => {
      await shows(view, '(send_payment: Payment declined');
      await shows(view, '1 contradicted');
      assert.match(String(await view.evaluate('document.querySelector("mark").innerText')), /was sent/);
    });
    const { runs } = JSON.parse((await run('runs', 'list', 'tool:send_payment', '--json')).stdout);
    const ids: string[] = runs.map(({ trace_id }: { trace_id: string }) => trace_id);
    assert.ok(ids.includes(String(trace)) && ids.includes(idOf(1)), ids.join());
    assert.match((await run('runs', 'show', String(trace))).stdout, /tool calls/);
    for (const args of [['approvals', 'list'], ['reviews', 'list'], ['tax'], ['db', 'status']])
      assert.notEqual((await run(...args)).stdout, '');
    await assert.rejects(run('db', 'prune', '--older-than', '90d'), /decide on the page/);
  });
});
