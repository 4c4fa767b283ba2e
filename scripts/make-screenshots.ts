/** Makes the pictures of the page in `docs/images` with Chromium and PostgreSQL: `node dist/scripts/make-screenshots.js`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { migrate, openDatabase, PostgresSpanExporter, refreshRollups } from '../src/postgres/index.ts';
import { startPage } from '../src/ui/index.ts';
import { visit } from '../test/support/chromium.ts';
import { exportSpans } from '../test/support/export.ts';
import { startPostgres } from '../test/support/postgres-server.ts';
import { DAY, PAYMENT, RETRIED, SHADOW, STORY } from '../test/support/seeded-runs.ts';

const FOLDER = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const STORY_RUN = '7'.padStart(32, '0');
/** Time for a view to load and settle. */
const SETTLE_MS = 2500;

const PICTURES = [
  { name: 'runs', hash: '#/runs', width: 1280, height: 760, colors: 'light' },
  { name: 'run', hash: `#/run/${STORY_RUN}`, width: 1280, height: 760, colors: 'light' },
  { name: 'waterfall', hash: `#/run/${STORY_RUN}/waterfall`, width: 1280, height: 760, colors: 'dark' },
  { name: 'tools', hash: '#/tools', width: 1280, height: 600, colors: 'light' },
  { name: 'cost', hash: '#/cost', width: 1280, height: 600, colors: 'dark' },
  { name: 'run-narrow', hash: `#/run/${STORY_RUN}`, width: 390, height: 844, colors: 'light' },
] as const;

await using server = await startPostgres();
const url = await server.createDatabase();
await using db = await openDatabase({ url });
await migrate(db);
const exporter = new PostgresSpanExporter({ connection: url });
for (const spans of [STORY, PAYMENT, RETRIED, SHADOW, DAY]) await exportSpans(exporter, spans);
await exporter.shutdown();
await refreshRollups(db);
await using page = await startPage({ db, port: 0 });
mkdirSync(FOLDER, { recursive: true });
await visit(page.url, async (view) => {
  for (const { name, hash, width, height, colors } of PICTURES) {
    await view.show(width, height, colors);
    await view.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await sleep(SETTLE_MS);
    writeFileSync(`${FOLDER}${name}.png`, await view.screenshot());
  }
});
