/** Tools that a gate bars, or whose definition changed, in the view Waiting: shown, decided, and what a decision does. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, propagation, trace } from '@opentelemetry/api';
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { gateCommand } from '../src/cli/gate.ts';
import {
  guardedCall,
  PinStore,
  PolicyDeniedError,
  PolicyGate,
  type ToolDefinition,
} from '../src/policy/index.ts';
import { migrate, openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { CAPTURE_CONTENT_VARIABLE, ObservatorySpanProcessor } from '../src/processor/index.ts';
import { startPage } from '../src/ui/index.ts';
import { noChromium, type Visit, visit } from './support/chromium.ts';
import { exportSpans } from './support/export.ts';
import { post } from './support/http-post.ts';
import { BEARER, PAGE_TOKEN } from './support/page-token.ts';
import { tempFile } from './support/policy-fixtures.ts';
import { noPostgres, type PostgresServer, startOwnPostgres } from './support/postgres-server.ts';
import { rollUpAll } from './support/roll-up.ts';
import { runCommand } from './support/run-command.ts';
import { BARRED, CHANGED, CONTACTS, runOf } from './support/seeded-runs.ts';
import { tempDir } from './support/temp-dir.ts';
import { waitUntil } from './support/wait-until.ts';

const PATIENCE_MS = 60_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const POLICY = {
  version: 1,
  rules: [{ id: 'r', effect: 'allow', server: 'desk', tool: 'export_contacts' }],
} as const;

interface Row {
  readonly id: string;
  readonly tool: string;
  readonly reason: string;
  readonly status: string;
}

describe('tools that wait', { skip: noChromium() || noPostgres() }, () => {
  let server: PostgresServer;
  let db: Awaited<ReturnType<typeof openDatabase>>;
  let exporter: PostgresSpanExporter;
  let page: Awaited<ReturnType<typeof startPage>>;
  before(async () => {
    server = await startOwnPostgres();
    db = await openDatabase({ url: server.url });
    await migrate(db);
    exporter = new PostgresSpanExporter({ connection: server.url });
    for (const spans of [BARRED, CHANGED]) await exportSpans(exporter, spans);
    await rollUpAll(db);
    page = await startPage({ db, port: 0, token: PAGE_TOKEN });
  });
  after(async () => {
    await page?.close();
    await exporter?.shutdown();
    await db?.close();
    await server?.[Symbol.asyncDispose]();
  });
  const text = async (view: Visit) => String(await view.evaluate('document.body.innerText'));
  const shows = (view: Visit, words: string) =>
    waitUntil(async () => (await text(view)).includes(words), PATIENCE_MS);
  const click = (view: Visit, words: string) =>
    view.evaluate(
      `[...document.querySelectorAll('button')].find((b) => b.innerText.includes(${JSON.stringify(words)})).click()`,
    );
  const get = async (path: string) =>
    JSON.parse((await post(`${page.address}${path}`, BEARER, undefined, 'GET')).body.toString());
  const decide = (id: string, body: object) =>
    post(
      `${page.address}api/waiting/${id}`,
      { ...BEARER, 'content-type': 'application/json' },
      Buffer.from(JSON.stringify(body)),
    );
  const waiting = async () => (await get('api/waiting/tools')).tools as readonly Row[];
  /** The tool that waits under a name, as soon as the page has seen it. */
  const idOf = async (tool: string, reason?: string): Promise<string> => {
    let id: string | undefined;
    await waitUntil(async () => {
      id = (await waiting()).find((row) => row.tool === tool && (reason ?? row.reason) === row.reason)?.id;
      return id !== undefined;
    }, PATIENCE_MS);
    return id ?? '';
  };

  test('what a gate bars, and what changed under it, waits once for each definition', async () => {
    await idOf('find');
    const rows = (await waiting()).map(({ tool, reason, status }) => [tool, reason, status]).sort();
    assert.deepEqual(rows, [
      ['export_contacts', 'tool_changed', 'pending'],
      ['find', 'tool_duplicate', 'pending'],
      ['merge_accounts', 'tool_unapproved', 'pending'],
      ['send_payment', 'tool_changed', 'pending'],
    ]);
    const changed = await get(`api/waiting/${await idOf('send_payment')}`);
    assert.equal(changed.definition.barred, null, 'the gate let it through');
    assert.match(changed.definition.now.text, /id_rsa/, 'as models were offered it');
    assert.equal(changed.definition.approve, null, 'there is nothing that a pin would change');
    assert.deepEqual(JSON.parse(changed.definition.deny).tool, 'send_payment');
  });

  test('one browser approves a changed tool, the other sees it; a second decision is refused and told who was first', async () => {
    const id = await idOf('export_contacts');
    await visit(`${page.url}#/waiting`, async (one) => {
      await shows(one, 'merge_accounts');
      await visit(`${page.url}#/waiting/${id}`, async (other) => {
        await shows(other, 'The gate refuses its calls');
        await shows(other, 'content of ~/.ssh/config');
        await one.evaluate(`location.hash = '#/waiting/${id}'`);
        await shows(one, 'What changed');
        const added = await one.evaluate(
          '[...document.querySelectorAll(".wdetail ins")].map((part) => part.innerText).join("")',
        );
        assert.match(String(added), /<img src=x.*~\/\.ssh\/config/);
        assert.equal(await one.evaluate('document.querySelectorAll("main img, main script").length'), 0);
        await one.evaluate('document.querySelector(".note").value = "looked at it"');
        // Sooner it decides nothing.
        await sleep(700);
        await click(one, 'Approve');
        for (const view of [one, other]) {
          await shows(view, 'by somebody on the page');
          await shows(view, 'looked at it');
          assert.equal(await view.evaluate('document.querySelectorAll(".decide").length'), 0);
          assert.deepEqual(view.complaints, []);
        }
      });
    });
    assert.equal(
      (await waiting()).some((row) => row.id === id),
      false,
    );
    const late = await decide(id, { decision: 'reject' });
    assert.deepEqual([late.status, /approved by page already/.test(late.body.toString())], [409, true]);
    const { rows } = await db.query(
      'SELECT status, decided_by, note, tool_name FROM mcp_reviews WHERE review_id = $1::text::uuid',
      [id],
    );
    assert.deepEqual(rows, [
      { status: 'approved', decided_by: 'page', note: 'looked at it', tool_name: 'export_contacts' },
    ]);
  });

  test('of many decisions at once one stands', async () => {
    const id = await idOf('merge_accounts');
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => decide(id, { decision: i % 2 === 0 ? 'approve' : 'reject' })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(409)]);
  });

  test('a definition that cannot be approved can only be rejected, and nothing else is taken', async () => {
    const id = await idOf('find');
    assert.equal((await decide(id, { decision: 'approve' })).status, 400);
    assert.equal((await decide(id, { decision: 'revoke' })).status, 400);
    const foreign = await post(
      `${page.address}api/waiting/${id}`,
      { ...BEARER, 'content-type': 'application/json', origin: 'http://evil.example' },
      Buffer.from('{"decision":"reject"}'),
    );
    assert.equal(foreign.status, 403);
    assert.equal(
      (await decide(id.replace(/.$/, '0'), { decision: 'reject' })).status,
      id.endsWith('0') ? 200 : 404,
    );
    await visit(`${page.url}#/waiting/${id}`, async (view) => {
      await shows(view, 'It cannot be approved');
      assert.equal((await text(view)).includes('Approve'), false);
      await sleep(700);
      await click(view, 'Reject');
      await shows(view, 'by somebody on the page');
    });
  });

  test('another definition of a decided tool waits again', async () => {
    const before = await idOf('send_payment');
    assert.equal((await decide(before, { decision: 'reject' })).status, 200);
    await exportSpans(
      exporter,
      runOf(51, 0.1, [
        {
          name: 'policy_gate send_payment',
          at: 0,
          ms: 1,
          attributes: {
            'gen_ai.tool.name': 'send_payment',
            'observatory.mcp_server': 'bank',
            'observatory.policy_decision': 'allow',
            'observatory.tool_hash': 'e'.repeat(64),
          },
        },
      ]),
    );
    assert.notEqual(await idOf('send_payment'), before);
  });

  test('a definition on a span that is not the one of its hash is not shown', async () => {
    await exportSpans(
      exporter,
      runOf(52, 0.1, [
        {
          name: 'tool_barred sly',
          at: 0,
          ms: 1,
          attributes: {
            'observatory.barred_tool': 'sly',
            'observatory.mcp_server': 'crm',
            'observatory.policy_reason': 'tool_changed',
            'observatory.tool_hash': 'f'.repeat(64),
            'observatory.barred_definition': JSON.stringify(CONTACTS.approved),
          },
        },
      ]),
    );
    const id = await idOf('sly');
    assert.equal((await get(`api/waiting/${id}`)).definition.now.text, null);
    await visit(`${page.url}#/waiting/${id}`, async (view) => {
      await shows(view, 'Only its hash is stored');
      await shows(view, 'npx mcp-observatory gate pin crm/sly --pins');
    });
  });

  test('the command of a real gate pins the definition that was looked at, and no other', async () => {
    const pins = join(tempDir(), 'pins.json');
    const toolsFile = (tool: ToolDefinition) => tempFile('tools.json', { desk: { tools: [tool] } });
    const pin = (...args: string[]) => runCommand(gateCommand, ['pin', ...args, '--pins', pins], [], {});
    const [approved, listed] = [CONTACTS.approved, CONTACTS.listed] as unknown as [
      ToolDefinition,
      ToolDefinition,
    ];
    await pin('--tools', toolsFile(approved), '--approve', 'all');
    const tracing = new NodeTracerProvider({
      spanProcessors: [new ObservatorySpanProcessor({}), new SimpleSpanProcessor(exporter)],
    });
    const captured = process.env[CAPTURE_CONTENT_VARIABLE];
    process.env[CAPTURE_CONTENT_VARIABLE] = 'true';
    tracing.register();
    const called = async () => {
      using gate = new PolicyGate({ policy: POLICY, pins: PinStore.fromFile(pins) });
      gate.setTools('desk', [listed]);
      const call = { server: 'desk', tool: 'export_contacts', args: { customer: 'Ada' } };
      const invoke = async () => ({ content: [{ type: 'text', text: 'a,b' }] });
      return [gate.allowedTools().length, (await guardedCall(call, invoke, { gate })).decision.decision];
    };
    try {
      await assert.rejects(
        called(),
        (error) => error instanceof PolicyDeniedError && error.reasonCode === 'tool_changed',
      );
      await tracing.forceFlush();
      let id = '';
      await waitUntil(async () => {
        const rows = (await get('api/waiting/tools')).tools as (Row & { server: string })[];
        id = rows.find((row) => row.server === 'desk')?.id ?? '';
        return id !== '';
      }, PATIENCE_MS);
      const { definition, run } = await get(`api/waiting/${id}`);
      assert.match(definition.now.text, /note/);
      assert.match(definition.before.text, /of one customer/);
      assert.match(run, /^[0-9a-f]{32}$/);
      const [, digest = ''] =
        /gate pin desk\/export_contacts .* --approve ([0-9a-f]{32})$/.exec(definition.approve) ?? [];
      assert.equal((await decide(id, { decision: 'approve' })).status, 200);
      await assert.rejects(called(), PolicyDeniedError, 'a decision on the page is no pin');
      const other = { ...listed, description: 'Another one by now' };
      const args = (tool: ToolDefinition) => [
        'desk/export_contacts',
        '--tools',
        toolsFile(tool),
        '--approve',
        digest,
      ];
      await assert.rejects(pin(...args(other)), { code: 'INVALID_OPTION' });
      await assert.rejects(called(), PolicyDeniedError);
      assert.equal((await pin(...args(listed))).code, 0);
      assert.deepEqual(await called(), [1, 'allow']);
    } finally {
      if (captured === undefined) delete process.env[CAPTURE_CONTENT_VARIABLE];
      else process.env[CAPTURE_CONTENT_VARIABLE] = captured;
      await tracing.forceFlush();
      trace.disable();
      context.disable();
      propagation.disable();
    }
  });

  test('every state of a tool is readable wide and narrow, light and dark', async () => {
    await exportSpans(
      exporter,
      BARRED.map((span) => span),
    );
    const { decided } = await get('api/waiting');
    const ids = [...(await waiting()), ...(decided as Row[])].map(({ id }) => id);
    assert.ok(ids.length >= 5);
    await visit(page.url, async (view) => {
      await view.evaluate(`${AXE}; undefined`);
      const all: string[] = [];
      for (const width of [1280, 390]) {
        for (const colors of ['light', 'dark'] as const) {
          await view.show(width, 844, colors);
          for (const id of ids) {
            await view.evaluate(`location.hash = '#/waiting/${id}'`);
            await waitUntil(
              async () => (await view.evaluate('document.querySelector(".wdetail h3") !== null')) === true,
              PATIENCE_MS,
            );
            const faults =
              await view.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
              violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
                .map(({ id, nodes }) => id + ': ' + nodes[0].html.slice(0, 200)))`);
            for (const fault of faults as string[]) all.push(`${width} ${colors} ${fault}`);
            const scroll = Number(await view.evaluate('document.documentElement.scrollWidth'));
            if (scroll > width) all.push(`${width} ${colors} is ${scroll} wide`);
          }
        }
      }
      assert.deepEqual(all, []);
      assert.deepEqual(view.complaints, []);
    });
  });
});
