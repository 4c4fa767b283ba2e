import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { DurableSpanProcessor } from '../src/durable/index.ts';
import { migrate, openDatabase, PostgresSpanExporter } from '../src/postgres/index.ts';
import { assertExactly } from './support/export-under-fault.ts';
import { idsOf, manySpans } from './support/many-spans.ts';
import { noPostgres, type PostgresServer, runSql, startOwnPostgres } from './support/postgres-server.ts';
import { altered } from './support/spans.ts';
import { waitUntil } from './support/wait-until.ts';

const dist = fileURLToPath(new URL('../', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));

const PATIENCE_MS = 60_000;

/** What the next version of this package may be: the same code with one field more. */
async function nextVersion(folder: string): Promise<typeof PostgresSpanExporter> {
  cpSync(join(dist, 'src'), join(folder, 'dist/src'), { recursive: true });
  cpSync(join(root, 'schema'), join(folder, 'schema'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  const fields = join(folder, 'dist/src/base/fields.js');
  const line = "text('next_note', 'A column of the next version'),";
  writeFileSync(fields, readFileSync(fields, 'utf8').replace('export const FIELDS = [', `$&\n    ${line}`));
  const module = (await import(pathToFileURL(join(folder, 'dist/src/postgres/index.js')).href)) as {
    PostgresSpanExporter: typeof PostgresSpanExporter;
  };
  return module.PostgresSpanExporter;
}

describe('two versions of the package at one database', { skip: noPostgres() }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'observatory-versions-'));
  let server: PostgresServer;
  before(async () => {
    server = await startOwnPostgres();
  });
  after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true });
  });

  for (const copy of [true, false]) {
    test(`both go on writing while the schema is migrated, by ${copy ? 'COPY' : 'INSERT'}`, async () => {
      const url = await server.createDatabase();
      {
        await using db = await openDatabase({ url });
        await migrate(db);
      }
      const own = join(folder, String(copy));
      mkdirSync(own);
      const Next = await nextVersion(own);
      const processorOf = (exporter: PostgresSpanExporter, name: string) =>
        new DurableSpanProcessor({
          exporter,
          spool: { directory: join(own, name), sync: 'never' },
          minRetryDelayMs: 10,
          maxRetryDelayMs: 50,
          scheduledDelayMs: 10,
        });
      const present = processorOf(new PostgresSpanExporter({ connection: url, copy }), 'present');
      const next = processorOf(new Next({ connection: url, copy }), 'next');
      const sent: string[] = [];
      const send = () => {
        const [ours, theirs] = [manySpans(200), manySpans(200)];
        for (const span of ours) present.onEnd(span);
        for (const span of theirs) {
          next.onEnd(altered(span, { attributes: { ...span.attributes, 'observatory.next_note': 'new' } }));
        }
        sent.push(...idsOf(ours), ...idsOf(theirs));
      };
      send();
      // The new code is there before its column: it waits and loses nothing, and the old code is not disturbed.
      await waitUntil(() => next.stats.failedExports > 0 && present.stats.exported === 200, PATIENCE_MS);
      send();
      await runSql(url, 'ALTER TABLE mcp_traces ADD COLUMN next_note text');
      send();
      await waitUntil(() => next.stats.exported === 600 && present.stats.exported === 600, PATIENCE_MS);
      send();
      await Promise.all([present.shutdown(), next.shutdown()]);
      await assertExactly(url, sent);
      const rows = await runSql(url, `SELECT count(*)::integer AS n FROM mcp_traces WHERE next_note = 'new'`);
      assert.equal(rows[0]?.n, 800);
      assert.equal(present.stats.failedExports, 0);
    });
  }
});
