/** Who may decide about a held call: the person's browser and shell, and nobody else, whatever they try. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { noChromium, type Visit, visit } from './support/chromium.ts';
import { HELD_CALL, HELD_POLICY, HELD_TOOLS } from './support/held-call.ts';
import { getAsBrowser, post } from './support/http-post.ts';
import { Installed } from './support/installed.ts';
import {
  applyRoles,
  createRole,
  findPsql,
  noPostgres,
  type PostgresServer,
  runSql,
  startPostgres,
} from './support/postgres-server.ts';
import { tempDir } from './support/temp-dir.ts';
import { waitUntil } from './support/wait-until.ts';

type Policy = typeof import('../src/entries/policy.ts');
type Execution = typeof import('../src/entries/execution.ts');

let installed: Installed;
let PolicyGate: Policy['PolicyGate'];
let PolicyHost: Policy['PolicyHost'];
let PostgresReviewQueue: Execution['PostgresReviewQueue'];
before(async () => {
  installed = await Installed.start();
  ({ PolicyGate, PolicyHost } = await installed.entry<Policy>('policy'));
  ({ PostgresReviewQueue } = await installed.entry<Execution>('execution'));
});
after(() => installed?.[Symbol.asyncDispose]());

const THIEF = fileURLToPath(new URL('./support/thief.js', import.meta.url));
const THIEVING_SERVER = fileURLToPath(new URL('./support/thieving-server.js', import.meta.url));
const PATIENCE_MS = 60_000;
const JSON_TYPE = { 'content-type': 'application/json' };
const APPROVE = Buffer.from('{"decision":"approve"}');
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** A page that leaves a service worker, which answers in place of whoever listens there later. */
const LEAVES_WORKER = `<body><script>navigator.serviceWorker.register('/worker.js')
  .then(() => navigator.serviceWorker.ready).then(() => { document.body.textContent = 'worker is left'; });</script>`;
const WORKER = `addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => event.respondWith(new Response('the worker has this page')));`;

interface Running {
  readonly child: ChildProcess;
  readonly address: string;
  readonly mcp: string;
  readonly readToken: string;
  /** Where spans are sent to, of `up`. */
  readonly otlp: string | undefined;
  /** Addresses that were printed, the newest last. */
  readonly printed: string[];
}

interface Stolen {
  readonly secrets: number;
  readonly tried: readonly (readonly [string, number])[];
}

for (const command of ['ui', 'up']) {
  describe(`who decides on the page of ${command}`, { skip: noPostgres() }, () => {
    const state = join(tempDir(), 'state');
    let server: PostgresServer;
    let url: string;
    let queue: InstanceType<Execution['PostgresReviewQueue']>;
    let page: Running;
    const start = async (port = '0', database = url, folder = state): Promise<Running> => {
      const ports = command === 'up' ? ['--http-port', '0', '--grpc-port', '0'] : [];
      const args = [
        installed.cli,
        command,
        '--json',
        '--as',
        'Ada',
        '--database-url',
        database,
        '--port',
        port,
        ...ports,
      ];
      const env = { ...process.env, XDG_STATE_HOME: folder, MCP_OBSERVATORY_PAGE_TOKEN: '' };
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env });
      const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
      const [line] = (await once(lines, 'line')) as [string];
      const ready = JSON.parse(line) as Record<string, string>;
      const printed = [ready.page ?? ready.url ?? ''];
      lines.on('line', (next) => printed.push((JSON.parse(next) as { page: string }).page));
      const address = new URL('/', ready.mcp).href;
      return {
        child,
        address,
        mcp: ready.mcp ?? '',
        readToken: ready.read_token ?? '',
        printed,
        otlp: ready.http,
      };
    };
    const end = async ({ child }: Running) => {
      child.kill('SIGINT');
      await once(child, 'exit');
      assert.equal(child.exitCode, 0);
    };
    before(async () => {
      server = await startPostgres();
      url = await server.createMigrated();
      queue = new PostgresReviewQueue({ connection: url });
      page = await start();
    });
    after(async () => {
      if (page !== undefined) await end(page);
      await queue?.close();
      await server?.stop();
    });
    let id = '';
    beforeEach(async () => {
      await runSql(url, 'TRUNCATE mcp_reviews CASCADE');
      using gate = new PolicyGate({ policy: HELD_POLICY, tools: HELD_TOOLS, approvals: { queue } });
      const { message } = await gate.authorize(HELD_CALL);
      id = /[0-9a-f-]{36}/u.exec(message)?.[0] ?? '';
    });

    const decide = async (headers: Record<string, string>, path = `api/waiting/${id}`) =>
      (await post(`${page.address}${path}`, { ...JSON_TYPE, ...headers }, APPROVE)).status;
    const read = async (headers: Record<string, string>) =>
      (await post(`${page.address}api/waiting`, headers, undefined, 'GET')).status;
    const makeRoles = () => applyRoles(url, installed.path('schema/roles.sql'));
    const isUndecided = async () => assert.equal((await queue.get(id)).status, 'pending');
    const signIn = async (address = page.printed.at(-1) ?? '') => {
      const { status, headers } = await getAsBrowser(address);
      assert.equal(status, 303);
      const cookie = String(headers['set-cookie']?.[0]).split(';', 1)[0] ?? '';
      const key = new URL(String(headers.location), page.address).searchParams.get('key') ?? '';
      return { cookie, 'x-observatory-key': key };
    };
    const refusesAll = ({ tried }: Stolen) => {
      assert.ok(tried.length >= 10);
      for (const [way, status] of tried) {
        // The page itself has no data, and the tool refuses in its answer.
        const allowed =
          way === 'database by /mcp' ? [200, 400, 401, 403, 406] : [301, 400, 401, 403, 404, 405, 421];
        assert.ok(allowed.includes(status), `${way}: ${status}`);
      }
    };
    const seen = async (view: Visit) => String(await view.evaluate('document.body.innerText'));
    const shows = (view: Visit, words: string) =>
      waitUntil(async () => (await seen(view)).includes(words), PATIENCE_MS);
    const click = (view: Visit, words: string) =>
      view.evaluate(
        `[...document.querySelectorAll('button')].find((b) => b.innerText.includes(${JSON.stringify(words)})).click()`,
      );

    test('a process of the same user reads with the read token, and decides nothing with all it finds', async () => {
      const args = [THIEF, page.address, id, String(page.child.pid), state];
      const stolen = JSON.parse(execFileSync(process.execPath, args).toString()) as Stolen;
      assert.ok(stolen.secrets >= 2, 'it finds the read token');
      refusesAll(stolen);
      await isUndecided();
      const bearer = { authorization: `Bearer ${page.readToken}` };
      assert.deepEqual([await read(bearer), await decide(bearer)], [200, 403]);
      await isUndecided();
    });

    test('what is kept of a page is for its user alone, and has no token that decides', () => {
      const { port } = new URL(page.address);
      const names = ['read-token', `page-${port}.json`].map((name) => join(state, 'mcp-observatory', name));
      for (const path of names) assert.equal(statSync(path).mode & 0o777, 0o600, path);
      assert.equal(statSync(join(state, 'mcp-observatory')).mode & 0o777, 0o700);
      const [token = '', noted = ''] = names.map((path) => readFileSync(path, 'utf8'));
      assert.equal(token.trim(), page.readToken);
      const { pid } = page.child;
      const { door, store, ...rest } = JSON.parse(noted);
      assert.deepEqual(rest, { url: page.address, port: Number(port), pid, read_token: token.trim() });
      assert.ok(door.token.length === 43 && store !== '');
      const secret = new URL(page.printed.at(-1) ?? '').searchParams.get('token') ?? '';
      for (const at of [
        token,
        noted,
        ...['environ', 'cmdline'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'utf8')),
      ])
        assert.equal(at.includes(secret), false);
    });

    test('another user of the machine neither reads nor decides', {
      skip: !isRoot && 'not root',
    }, async () => {
      // The folder of the tests is closed to others.
      const folder = mkdtempSync(join(tmpdir(), 'thief-'));
      chmodSync(folder, 0o755);
      const program = join(folder, 'thief.mjs');
      copyFileSync(THIEF, program);
      chmodSync(program, 0o644);
      const args = [program, page.address, id, String(page.child.pid), state];
      const other = { uid: NOBODY, gid: NOBODY, cwd: '/', env: {} };
      const stolen = JSON.parse(execFileSync(process.execPath, args, other).toString()) as Stolen;
      rmSync(folder, { recursive: true });
      assert.equal(stolen.secrets, 0);
      refusesAll(stolen);
      assert.equal(await read({}), 401);
      await isUndecided();
    });

    test('a gated MCP server does not approve its own payment, and gets no setting of ours', async () => {
      const report = join(tempDir(), 'report.json');
      await using _ = { [Symbol.asyncDispose]: async () => host.close() };
      const gate = new PolicyGate({ policy: HELD_POLICY, approvals: { queue, waitMs: 1 } });
      process.env.MCP_OBSERVATORY_PAGE_TOKEN = 'a-token-of-enough-characters';
      const args = [THIEVING_SERVER, report, page.address, String(page.child.pid), state];
      const call = { type: 'call_tool', server: 'bank', tool: 'send_payment', args: HELD_CALL.args };
      const host = await PolicyHost.open({
        gate,
        planner: { plan: async () => JSON.stringify(call) },
        summarize: false,
        servers: { bank: { command: process.execPath, args, env: { HELD_ID: id } } },
        audit: false,
      }).finally(() => {
        delete process.env.MCP_OBSERVATORY_PAGE_TOKEN;
      });
      let stolen: (Stolen & { listed: number; own: string[] }) | undefined;
      await waitUntil(() => {
        try {
          stolen = JSON.parse(readFileSync(report, 'utf8'));
        } catch {
          return false;
        }
        return true;
      }, PATIENCE_MS);
      assert.equal(stolen?.listed, 401);
      // A random mark by which the processes of a server are found again.
      assert.deepEqual(stolen?.own, ['MCP_OBSERVATORY_SERVER']);
      refusesAll(stolen as Stolen);
      const answer = await host.askOnce('Pay', { caller: 'alice' });
      assert.deepEqual(
        [answer.type, 'reasonCode' in answer && answer.reasonCode],
        ['blocked', 'approval_required'],
      );
      await isUndecided();
    });

    test('an address is for one browser: used, guessed, raced for or from before a restart it opens nothing', async () => {
      const address = page.printed.at(-1) ?? '';
      const opened = await Promise.all(Array.from({ length: 20 }, () => getAsBrowser(address)));
      assert.equal(opened.filter(({ status }) => status === 303).length, 1);
      assert.equal((await getAsBrowser(address)).status, 401);
      await waitUntil(() => page.printed.at(-1) !== address);
      const session = await signIn();
      assert.equal(await read(session), 200);
      for (const half of [{ cookie: session.cookie }, { 'x-observatory-key': session['x-observatory-key'] }])
        assert.deepEqual([await read(half), await decide(half)], [401, 401]);
      const other = await signIn(await newest(2));
      assert.equal(await decide({ ...session, 'x-observatory-key': other['x-observatory-key'] }), 401);
      assert.equal(await decide({ ...session, host: 'evil.example' }), 421);
      assert.equal(await decide({ ...session, origin: 'http://evil.example' }), 403);
      assert.equal(await decide({ ...session, 'sec-fetch-site': 'same-site' }), 403);
      const { port } = new URL(page.address);
      await end(page);
      page = await start(port);
      assert.deepEqual([await read(session), await decide(session)], [401, 401]);
      assert.ok([401, 421].includes((await getAsBrowser(address)).status));
      assert.equal(await read({ authorization: `Bearer ${page.readToken}` }), 200, 'the read token stays');
      await isUndecided();
    });
    const newest = async (count: number) => {
      await waitUntil(() => page.printed.length > count);
      return page.printed.at(-1) ?? '';
    };

    test('a request in disguise, or after one that may decide, decides nothing', async () => {
      const session = await signIn();
      const { host, hostname, port } = new URL(page.address);
      const signed = Object.entries(session).map(([name, value]) => `${name}: ${value}\r\n`);
      const json = 'content-type: application/json\r\n';
      const sized = `${json}content-length: ${APPROVE.length}\r\n`;
      const target = `/api/waiting/${id}`;
      const bare = `POST ${target} HTTP/1.1\r\nhost: ${host}\r\n${sized}\r\n${APPROVE}`;
      const chunked = 'transfer-encoding: chunked\r\n';
      const chunk = `${APPROVE.length.toString(16)}\r\n${APPROVE}\r\n0\r\n`;
      const smuggling = `POST /api/session HTTP/1.1\r\nhost: ${host}\r\n${signed.join('')}`;
      const ways: Readonly<Record<string, string>> = {
        'on a connection that was used': `GET /api/session HTTP/1.1\r\nhost: ${host}\r\n${signed.join('')}\r\n${bare}`,
        'in a body of two lengths': `${smuggling}content-length: 6\r\n${chunked}\r\n0\r\n\r\n${bare}`,
        'in a body of two codings': `${smuggling}${chunked}transfer-encoding: identity\r\n\r\n0\r\n\r\n${bare}`,
        'with a key behind the body': `POST ${target} HTTP/1.1\r\nhost: ${host}\r\n${json}${chunked}\r\n${chunk}${signed.join('')}\r\n`,
        'with a key in a folded line': bare.replace(json, `${json}x: y\r\n ${signed.join(' ')}`),
        'with two hosts': bare.replace('host:', 'host: evil.example\r\nhost:'),
        'as to a proxy': bare.replace(target, `http://${host}${target}`),
        'of another server': bare.replace(target, `//evil.example${target}`),
        'of an old version': bare.replace('1.1', '1.0').replace(`host: ${host}\r\n`, ''),
        'as a socket': bare.replace(json, `connection: upgrade\r\nupgrade: websocket\r\n${signed[0]}${json}`),
        'through a tunnel': `CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n\r\n${bare}`,
      };
      for (const [way, sent] of Object.entries(ways)) {
        const socket = connect(Number(port), hostname);
        socket.end(sent);
        const answer = (await text(socket)).match(/^HTTP\/1\.1 \d+/gmu) ?? [];
        assert.match(answer.at(-1) ?? '401', /(?:400|401|421)$/u, `${way}: ${answer}`);
        await isUndecided();
      }
    });

    test('of many who decide at once, one does; an expired request is decided by nobody', async () => {
      const session = await signIn();
      const all = await Promise.all(Array.from({ length: 20 }, () => decide(session)));
      assert.deepEqual([...new Set(all)].sort(), [200, 409]);
      assert.equal(all.filter((status) => status === 200).length, 1);
      assert.equal((await queue.get(id)).decidedBy, 'page:Ada');
      await runSql(url, 'TRUNCATE mcp_reviews CASCADE');
      using gate = new PolicyGate({ policy: HELD_POLICY, tools: HELD_TOOLS, approvals: { queue } });
      const { message } = await gate.authorize(HELD_CALL);
      id = /[0-9a-f-]{36}/u.exec(message)?.[0] ?? '';
      await runSql(url, 'UPDATE mcp_reviews SET expires_at = now()');
      assert.equal(await decide(session), 409);
      assert.equal((await gate.authorize(HELD_CALL)).reasonCode, 'approval_required');
    });

    test('other pages in the browser of the person decide and read nothing, on any port', {
      skip: noBrowser(command),
    }, async () => {
      const cookies: string[] = [];
      const home = new URL('/', page.printed.at(-1)).href;
      const elsewhere = createServer((request, response) => {
        if (request.headers.cookie !== undefined) cookies.push(request.headers.cookie);
        response.writeHead(200, { 'content-type': 'text/html' }).end(attackOn(home, id));
      });
      await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
      const { port } = elsewhere.address() as AddressInfo;
      try {
        await visit(`${page.printed.at(-1)}#/waiting/${id}`, async (view) => {
          await shows(view, 'Approve');
          // Another port is the same site, to which cookies go; another name is another site.
          for (const name of [new URL(home).hostname, '127.0.0.1']) {
            await view.open(`http://${name}:${port}/`);
            await waitUntil(async () => (await view.evaluate('document.title')) === 'done', PATIENCE_MS);
            const got = await view.evaluate('window.got');
            assert.deepEqual(got, ['refused', 'refused'], name);
            await isUndecided();
          }
          // The link leads to the page, where the person goes on.
          await view.evaluate('document.querySelector("a").click()');
          await shows(view, 'Approve');
          // Who types there, or clicks twice, goes on doing so here.
          for (let i = 0; i < 12; i += 1) {
            await view.press('a');
            await sleep(100);
          }
          await view.evaluate('dispatchEvent(new Event("focus"))');
          await click(view, 'Approve');
          await sleep(500);
          await isUndecided();
        });
        assert.ok(cookies.length > 0, 'browsers share cookies between ports');
        for (const cookie of cookies)
          assert.deepEqual([await read({ cookie }), await decide({ cookie })], [401, 401]);
        await isUndecided();
      } finally {
        elsewhere.close();
        elsewhere.closeAllConnections();
      }
    });

    test('the browser of the person decides, says so when the page was started anew, and goes on with the new address', {
      skip: noBrowser(command),
    }, async () => {
      await visit(`${page.printed.at(-1)}#/waiting/${id}`, async (view) => {
        await shows(view, 'as Ada');
        assert.equal(await view.evaluate('location.search'), '');
        const { port } = new URL(page.address);
        await end(page);
        page = await start(port);
        await shows(view, 'This browser is not signed in');
        await isUndecided();
        await view.open('about:blank');
        await view.open(`${page.printed.at(-1)}#/waiting/${id}`);
        await shows(view, 'Approve');
        // Sooner it decides nothing.
        await sleep(700);
        await click(view, 'Approve');
        await shows(view, 'by Ada');
      });
      assert.equal((await queue.get(id)).decidedBy, 'page:Ada');
    });

    test('a script that another listener at the port left in the browser sees no token', {
      skip: noBrowser(command),
    }, async () => {
      const { port } = new URL(page.address);
      await end(page);
      const squatter = createServer(({ url: path }, response) => {
        const type = path === '/worker.js' ? 'text/javascript' : 'text/html';
        response.writeHead(200, { 'content-type': type });
        response.end(path === '/worker.js' ? WORKER : LEAVES_WORKER);
      });
      await once(squatter.listen(Number(port), '127.0.0.1'), 'listening');
      await visit(`http://127.0.0.1:${port}/`, async (view) => {
        await shows(view, 'worker is left');
        squatter.close();
        squatter.closeAllConnections();
        page = await start(port);
        await view.open(`${page.printed.at(-1)}#/waiting/${id}`);
        await shows(view, 'Approve');
        await isUndecided();
        await view.open(page.address);
        await shows(view, 'the worker has this page');
      });
    });

    test('the shell decides with the right to the database, under a name', async () => {
      const shell = (...args: string[]) =>
        execFileSync(process.execPath, [
          installed.cli,
          'approvals',
          ...args,
          '--database-url',
          url,
        ]).toString();
      assert.match(shell('approve', id), new RegExp(`approved by ${userInfo().username} for once`));
      assert.match(shell('list'), new RegExp(`${id}  approved .*${userInfo().username}`));
    });

    test('what a sender of spans, a decision of an agent or another page says decides nothing', {
      skip: findPsql() === undefined && 'no psql',
    }, async () => {
      const told = {
        'observatory.approval.id': id,
        'observatory.approval.state': 'approved',
        decision: 'accept',
      };
      const attributes = Object.entries(told).map(([key, value]) => ({ key, value: { stringValue: value } }));
      const scope = { name: 'mcp-observatory' };
      const at = { startTimeUnixNano: `${Date.now()}000000`, endTimeUnixNano: `${Date.now()}000000` };
      const span = {
        traceId: 'a'.repeat(32),
        spanId: 'b'.repeat(16),
        name: 'policy_gate',
        kind: 1,
        ...at,
        attributes,
      };
      const spans = { resourceSpans: [{ scopeSpans: [{ scope, spans: [span] }] }] };
      const logRecord = {
        timeUnixNano: at.startTimeUnixNano,
        body: { stringValue: 'claude_code.tool_decision' },
      };
      const logs = { resourceLogs: [{ scopeLogs: [{ scope, logRecords: [{ ...logRecord, attributes }] }] }] };
      for (const [path, body] of Object.entries({ traces: spans, logs, [`../api/waiting/${id}`]: APPROVE })) {
        if (page.otlp === undefined) break;
        const sent = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
        const { status } = await post(`${page.otlp}/v1/${path}`, JSON_TYPE, sent);
        assert.equal(status, Buffer.isBuffer(body) ? 404 : 200, path);
      }
      // A page of an agent's own, with its own state, over what it may read.
      makeRoles();
      await using login = await createRole(url, 'IN ROLE mcp_observatory_reader');
      const own = await start('0', login.url, join(tempDir(), 'state'));
      try {
        const session = await signIn(own.printed[0]);
        const answer = await post(`${own.address}api/waiting/${id}`, { ...JSON_TYPE, ...session }, APPROVE);
        assert.equal(answer.status, 503, 'the database refuses it');
      } finally {
        await end(own);
      }
      await isUndecided();
    });

    test('the roles of the application and of those who look decide nothing', {
      skip: findPsql() === undefined && 'no psql',
    }, async () => {
      makeRoles();
      for (const role of ['writer', 'reader']) {
        await using login = await createRole(url, `IN ROLE mcp_observatory_${role}`);
        await using own = new PostgresReviewQueue({ connection: login.url });
        await assert.rejects(own.claim({ worker: 'eve', id }), { code: 'DATABASE_REFUSED' });
        await assert.rejects(own.revoke(id, { by: 'eve' }), { code: 'DATABASE_REFUSED' });
        for (const sql of [
          `UPDATE mcp_reviews SET status = 'approved', decided_by = 'ada', decided_at = now()`,
          `INSERT INTO mcp_approvals (review_id, fingerprint, usable_ms) SELECT review_id, 'x', 1 FROM mcp_reviews`,
          'UPDATE mcp_approvals SET usable_ms = 1e15',
          `SELECT * FROM mcp_reviews_decide('${id}', 1, 'ada', 'approved', NULL, NULL, NULL)`,
        ])
          await assert.rejects(runSql(login.url, sql), { code: '42501' }, `${role}: ${sql}`);
      }
      await isUndecided();
    });
  });
}

/** Once is enough: both commands serve the same page. */
function noBrowser(command: string): string | false {
  return command === 'up' ? noChromium() : 'as with up';
}

/** A page that sends to the other one whatever a page can, and says what it could read of the answers. */
function attackOn(page: string, id: string): string {
  const target = `${page}api/waiting/${id}`;
  return `<!doctype html><title>attack</title><a href="${page}#/waiting/${id}">look</a>
<iframe name="frame"></iframe><img src="${target}?decision=approve"><iframe src="${page}#/waiting/${id}"></iframe>
<form method="post" action="${target}" target="frame" enctype="text/plain"><input name='{"decision":"approve","note":"' value='"}'></form>
<script>
const body = '{"decision":"approve"}';
const headers = { 'content-type': 'application/json' };
const asked = (address, init) => fetch(address, { credentials: 'include', ...init }).then((a) => a.text()).catch(() => 'refused');
document.forms[0].submit();
navigator.sendBeacon('${target}', new Blob([body], { type: 'text/plain' }));
(async () => {
  await fetch('${target}', { method: 'POST', mode: 'no-cors', credentials: 'include', body }).catch(() => {});
  window.got = [await asked('${target}', { method: 'POST', headers, body }), await asked('${page}api/runs', {})];
  await new Promise((resolve) => setTimeout(resolve, 500));
  document.title = 'done';
})();
</script>`;
}
