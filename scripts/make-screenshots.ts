/**
 * Makes the pictures of the page in `docs/images` with Chromium and PostgreSQL: `node dist/scripts/make-screenshots.js`.
 * The run is that of the demo, the waterfall and what waits are of a gate; the lists have both among seeded spans. With `--all DIR`, those of every view, wide and narrow, light and dark, into a folder.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PostgresReviewQueue } from '../src/approvals/index.ts';
import { demoCommand } from '../src/cli/demo.ts';
import { PolicyGate } from '../src/policy/index.ts';
import { migrate, openDatabase, PostgresSpanExporter, refreshRollups } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { visit } from '../test/support/chromium.ts';
import { exportSpans } from '../test/support/export.ts';
import { makeGatedRuns } from '../test/support/gated-runs.ts';
import { decideOldest, HELD_CALL, HELD_POLICY, HELD_TOOLS } from '../test/support/held-call.ts';
import { BEARER, PAGE_TOKEN } from '../test/support/page-token.ts';
import { startPostgres } from '../test/support/postgres-server.ts';
import { runCommand } from '../test/support/run-command.ts';
import { BARRED, CHANGED, DAY, PAYMENT, RETRIED, SHADOW, STORY } from '../test/support/seeded-runs.ts';

const FOLDER = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const STORY_RUN = '7'.padStart(32, '0');
/** Stand for the ids of these runs in an address. */
const DEMO_RUN = 'DEMO';
const GATED_RUN = 'GATED';
/** How long a person thinks about a payment. */
const DECISION_MS = 6000;
/** Time for a view to load and settle. */
const SETTLE_MS = 2500;

const PICTURES = [
  { name: 'runs', hash: '#/runs', width: 1280, height: 760, colors: 'light' },
  { name: 'run', hash: `#/run/${DEMO_RUN}`, width: 1280, height: 760, colors: 'light' },
  { name: 'waterfall', hash: `#/run/${GATED_RUN}/waterfall`, width: 1280, height: 760, colors: 'dark' },
  { name: 'tools', hash: '#/tools', width: 1280, height: 600, colors: 'light' },
  { name: 'cost', hash: '#/cost', width: 1280, height: 600, colors: 'dark' },
  { name: 'waiting', hash: '#/waiting', width: 1280, height: 640, colors: 'light' },
  { name: 'waiting-tool', hash: 'export_contacts', width: 1280, height: 760, colors: 'light' },
  { name: 'run-narrow', hash: `#/run/${DEMO_RUN}`, width: 390, height: 844, colors: 'light' },
] as const;

const VIEWS = {
  runs: '#/runs',
  sessions: '#/runs?by=session',
  run: `#/run/${DEMO_RUN}`,
  gated: `#/run/${GATED_RUN}`,
  story: `#/run/${STORY_RUN}`,
  waterfall: `#/run/${GATED_RUN}/waterfall`,
  raw: `#/run/${DEMO_RUN}/raw`,
  tools: '#/tools',
  clients: '#/tools?by=client',
  cost: '#/cost',
  'cost-tool': '#/cost?by=tool',
  waiting: '#/waiting',
  'waiting-changed': 'export_contacts',
  'waiting-new': 'merge_accounts',
  'waiting-twice': 'find',
  'waiting-offered': 'send_payment',
  compare: `#/compare?a=${'1'.padStart(32, '0')}&b=${DEMO_RUN}`,
  start: '#/start',
} as const;
const SIZES = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
] as const;

const { all } = parseArgs({ options: { all: { type: 'string' } } }).values;
const pictures =
  all === undefined
    ? PICTURES
    : Object.entries(VIEWS).flatMap(([name, hash]) =>
        SIZES.flatMap((size) =>
          (['light', 'dark'] as const).map((colors) => ({
            name: `${name}-${size.width}-${colors}`,
            hash,
            ...size,
            colors,
          })),
        ),
      );
const folder = all === undefined ? FOLDER : `${resolve(all)}/`;

await using server = await startPostgres();
const url = await server.createDatabase();
await using db = await openDatabase({ url });
await migrate(db);
const exporter = new PostgresSpanExporter({ connection: url });
for (const spans of [STORY, PAYMENT, RETRIED, SHADOW, DAY, CHANGED, BARRED])
  await exportSpans(exporter, spans);
await exporter.shutdown();
const gated = await makeGatedRuns(
  db,
  { 'pay the open invoice': ['chat', 'balance', 'pay', 'transfer', 'wipe', 'chat'] },
  async (reviews) => {
    await sleep(DECISION_MS);
    await decideOldest(reviews, 'approve', 'known supplier');
  },
);
const demo = await runCommand(demoCommand, ['--database-url', url]);
if (demo.code !== 0) throw new Error(`the demo failed: ${demo.stderr}`);
await refreshRollups(db);
const { rows } = await db.query(
  `SELECT replace(trace_id::text, '-', '') AS id FROM mcp_runs WHERE service = 'observatory-demo'`,
);
const runs: Readonly<Record<string, unknown>> = {
  [GATED_RUN]: gated['pay the open invoice'],
  [DEMO_RUN]: rows[0]?.id,
};
const queue = new PostgresReviewQueue({ connection: db });
const gate = new PolicyGate({ policy: HELD_POLICY, tools: HELD_TOOLS, approvals: { queue } });
const hold = (caller: string, args: object) =>
  gate.authorize({ ...HELD_CALL, caller, sessionId: 'support-7', args: { ...args } });
await hold('mara.lind', { to: 'Nordlicht GmbH', amount: 1240 });
await decideOldest(queue, 'approve', 'known supplier', 'session');
await hold('ada', { to: 'Grace', amount: 12 });
await decideOldest(queue, 'reject', 'ask Bob first');
await hold('mara.lind', { to: 'Südwind AG', amount: 310.5 });
await hold('night-job', { to: 'Grace Hopper', amount: 99 });
gate.close();
await using page = await startPage({ db, port: 0, token: PAGE_TOKEN });
const answer = await fetch(`${page.address}api/waiting/tools`, { headers: BEARER });
const { tools } = (await answer.json()) as {
  tools: readonly { readonly id: string; readonly tool: string }[];
};
/** A view, or the tool of that name among those that wait. */
const hashOf = (hash: string) =>
  hash.startsWith('#')
    ? hash.replace(/DEMO|GATED/, (name) => String(runs[name]))
    : `#/waiting/${tools.find(({ tool }) => tool === hash)?.id}`;
mkdirSync(folder, { recursive: true });
// Where it is afternoon, so that the day is not over between two rows.
const behind = (new Date().getUTCHours() + 8) % 24;
process.env.TZ = behind > 12 ? `Etc/GMT-${24 - behind}` : `Etc/GMT+${behind}`;
await visit(page.url, async (view) => {
  for (const { name, hash, width, height, colors } of pictures) {
    await view.show(width, height, colors);
    await view.evaluate(`location.hash = ${JSON.stringify(hashOf(hash))}`);
    await sleep(SETTLE_MS);
    writeFileSync(`${folder}${name}.png`, await view.screenshot());
  }
});
